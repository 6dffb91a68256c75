"""Documents cut into passages: text, Markdown, HTML and lines of JSON."""

import glob
import json
import os
import re
from typing import NamedTuple

from bert_span.storage.files import read_text

# A passage ends with the paragraph that reaches this many characters.
_PASSAGE_CHARACTERS = 1_000
_EMPTY_LINES = re.compile(r"\s*\n\s*\n\s*")

_BLOCKS = (
  *("p", "li", "dt", "dd", "tr", "pre", "blockquote", "div", "section"),
  *("h1", "h2", "h3", "h4", "h5", "h6", "table", "ul", "ol", "title"),
)


class Passage(NamedTuple):
  """Consecutive paragraphs of a document."""

  document: str  # path; of a .jsonl file with ":" and the line's number
  char_start: int  # of the passage in the document's text
  text: str


def read_passages(pattern, text_field="text"):
  """Lists the `Passage`s of all documents that a glob finds.

  .txt and .md files are read as they are, of .html files the text, of .jsonl
  files one document a line, with the text in `text_field`. In the glob, ** is
  any folders.
  """
  paths = sorted(filter(os.path.isfile, glob.glob(pattern, recursive=True)))
  passages = []
  for path in paths:
    for document, text in _documents(path, text_field):
      passages += cut_passages(document, text)
  if not passages:
    raise ValueError(
      f"{pattern} matches {len(paths)} files and no text. Give a glob of .txt, "
      ".md, .html or .jsonl files, such as 'notes/**/*.md'."
    )
  return passages


def cut_passages(document, text):
  """Yields the `Passage`s of a text: paragraphs of 1,000 characters or more.

  Paragraphs end at empty lines.
  """
  start = len(text) - len(text.lstrip())
  for gap in _EMPTY_LINES.finditer(text, start):
    end = gap.start()
    if end - start >= _PASSAGE_CHARACTERS:
      yield Passage(document, start, text[start:end])
      start = gap.end()
  if text[start:].strip():
    yield Passage(document, start, text[start:].rstrip())


def _documents(path, text_field):
  """Yields (name, text) of the documents in a file."""
  kind = os.path.splitext(path)[1].lower()
  if kind in (".txt", ".md"):
    yield path, read_text(path)
  elif kind in (".html", ".htm"):
    yield path, _html_text(read_text(path))
  elif kind == ".jsonl":
    for number, line in enumerate(read_text(path).split("\n"), start=1):
      if line.strip():
        place = f"{path}:{number}"
        yield place, _line_text(line, text_field, place)
  else:
    raise ValueError(
      f"{path} is none of .txt, .md, .html and .jsonl. Narrow the glob, for "
      "example to 'notes/**/*.md'."
    )


def _html_text(html):
  """The text of an HTML page, block by block."""
  # In the extra "search".
  import bs4

  page = bs4.BeautifulSoup(html, "html.parser")
  for tag in page(["script", "style", "template"]):
    tag.decompose()
  for tag in page(_BLOCKS):
    tag.insert_before("\n\n")
    tag.insert_after("\n\n")
  return page.get_text().strip()


def _line_text(line, text_field, place):
  try:
    text = json.loads(line)[text_field]
  except (ValueError, KeyError, TypeError, RecursionError):
    text = None
  if not isinstance(text, str):
    raise ValueError(
      f"{place}: the line must be a JSON object with text in {text_field!r}. "
      "Correct it, or name another field."
    )
  return text
