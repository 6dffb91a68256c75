"""Records the original's words and WordPieces of many texts."""

import itertools
import unicodedata

from original_code import questions_of


def record_tokens(run_squad, writer, vocab_file, paths):
  """Writes tokenization_* for the texts of SQuAD files.

  Texts with a character that Python 3.7's Unicode does not know are listed in
  tokenization_unicode_version_sensitive_*.
  """
  texts = list(dict.fromkeys(itertools.chain.from_iterable(map(_texts, paths))))
  sensitive = [
    text for text in texts if any(unicodedata.category(c) == "Cn" for c in text)
  ]
  for case in ("lower", "cased"):
    tokenizer = run_squad.tokenization.FullTokenizer(
      vocab_file, case == "lower"
    )
    for name, tokenize in (
      (f"tokenization_{case}", tokenizer.tokenize),
      (f"tokenization_basic_{case}", tokenizer.basic_tokenizer.tokenize),
    ):
      rows = [[text, tokenize(text)] for text in texts]
      writer.write_rows(f"{name}.jsonl.gz", rows)
    writer.write_json(
      f"tokenization_unicode_version_sensitive_{case}.json", sensitive
    )


def _texts(path):
  for context, question in questions_of(path):
    yield context
    yield question["question"]
    for answer in question["answers"]:
      yield answer["text"]
