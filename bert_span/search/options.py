"""Options of answering from documents."""

import dataclasses

from bert_span.options.fields import CheckedOptions, option


@dataclasses.dataclass(frozen=True)
class SearchOptions(CheckedOptions):
  """Which documents are read, and how much of them."""

  context_glob: str | None = option(
    None,
    "Documents to answer from, instead of one passage: .txt, .md, .html and "
    ".jsonl files, such as 'notes/**/*.md'.",
    is_input=True,
  )
  context_field: str = option(
    "text", "Key of the text in the lines of .jsonl files of context_glob."
  )
  max_document_bytes: int = option(
    64 << 20,
    "Largest file of context_glob or context_file, in bytes.",
    minimum=1,
  )
  top_k: int = option(
    20,
    "Passages of context_glob that are read for a question, those that BM25 "
    "finds.",
    minimum=1,
  )
  search_index: str | None = option(
    None,
    "Folder that keeps the index of context_glob for the next call; it is "
    "made again if the documents have changed.",
  )
