"""Documents cut into passages: text, Markdown, HTML and lines of JSON."""

import glob
import json
import math
import os
import re
from typing import NamedTuple

from bert_span.storage.files import read_text
from bert_span.storage.log import log_line

# A passage ends with the paragraph that reaches this many characters.
_PASSAGE_CHARACTERS = 1_000
LIMIT_REMEDY = "Divide the file, or raise max_document_bytes."
_EMPTY_LINES = re.compile(r"\s*\n\s*\n\s*")

_SUFFIXES = (".txt", ".md", ".html", ".htm", ".jsonl")
_BLOCKS = (
  *("p", "li", "dt", "dd", "tr", "pre", "blockquote", "div", "section"),
  *("h1", "h2", "h3", "h4", "h5", "h6", "table", "ul", "ol", "title"),
)


class DocumentPassage(NamedTuple):
  """Consecutive paragraphs of a document."""

  document: str  # path; in a .jsonl file followed by ":" and the line's number
  char_start: int  # offset of the passage in the document's text
  text: str


def read_passages(pattern, text_field="text", max_bytes=math.inf):
  """Lists the passages of all documents that a glob finds, each file once.

  .txt and .md files are read as they are, .html files without tags. Each line
  of a .jsonl file is a document with its text in `text_field`. In the glob, **
  matches any folders. Other files, files of more than max_bytes and unreadable
  ones are skipped and counted on standard error. ValueError if none is left.
  """
  passages, skipped, real_paths = [], [], set()
  for path in sorted(set(map(os.path.normpath, _matches(pattern, skipped)))):
    real_path = os.path.realpath(path)
    if real_path not in real_paths:
      real_paths.add(real_path)
      for document, text in _documents(path, text_field, max_bytes, skipped):
        passages += cut_passages(document, text)
  fault = f" The first skipped one: {skipped[0]}" if skipped else ""
  if not passages:
    raise ValueError(
      f"{pattern} matches no text that can be read. Give a glob of .txt, .md, "
      f".html or .jsonl files, such as 'notes/**/*.md'.{fault}"
    )
  if skipped:
    log_line(f"{pattern}: {len(skipped)} files or lines are skipped.{fault}")
  return passages


def _matches(pattern, skipped):
  """Yields the paths of a glob; ** enters each real folder once.

  A string that exists as it is written is a path, whatever its characters.
  Errors of folders that cannot be listed are added to `skipped`.
  """
  names = pattern.split(os.sep)
  if os.path.lexists(pattern):
    yield pattern
    return
  if "**" not in names:
    yield from glob.iglob(pattern)
    return
  index, visited = names.index("**"), set()
  before, after = os.sep.join(names[:index]), os.sep.join(names[index + 1 :])
  roots = _matches(before or os.sep, skipped) if index else ["."]
  for root in roots:
    for folder, folders, _ in os.walk(
      root, onerror=skipped.append, followlinks=True
    ):
      folders[:] = sorted(n for n in folders if not n.startswith("."))
      if os.path.realpath(folder) in visited:
        folders.clear()
        continue
      visited.add(os.path.realpath(folder))
      path = os.path.join(glob.escape(folder), after or "*")
      yield from _matches(path, skipped)


def cut_passages(document, text):
  """Yields the passages of a text: paragraphs of 1,000 characters or more.

  Paragraphs end at empty lines.
  """
  start = len(text) - len(text.lstrip())
  for gap in _EMPTY_LINES.finditer(text, start):
    end = gap.start()
    if end - start >= _PASSAGE_CHARACTERS:
      yield DocumentPassage(document, start, text[start:end])
      start = gap.end()
  if text[start:].strip():
    yield DocumentPassage(document, start, text[start:].rstrip())


def _documents(path, text_field, max_bytes, skipped):
  """Yields (name, text) of the documents in a file; adds to `skipped`."""
  suffix = os.path.splitext(path)[1].lower()
  is_folder = os.path.isdir(path)
  if is_folder and suffix not in _SUFFIXES:
    return
  try:
    if suffix not in _SUFFIXES:
      raise ValueError(
        f"{path} is none of .txt, .md, .html and .jsonl. Narrow the glob, for "
        "example to 'notes/**/*.md'."
      )
    if not os.path.isfile(path):
      fault = "is a folder" if is_folder else "is no file, or a broken link"
      raise ValueError(f"{path} {fault}.")
    text = read_text(path, max_bytes, LIMIT_REMEDY)
    if suffix.startswith(".htm"):
      text = _html_text(text, path)
  # lxml raises SyntaxErrors.
  except (OSError, ValueError, SyntaxError) as error:
    skipped.append(error)
    return
  if suffix != ".jsonl":
    yield path, text
    return
  for number, line in enumerate(text.split("\n"), start=1):
    if line.strip():
      place = f"{path}:{number}"
      try:
        yield place, _line_text(line, text_field, place)
      except ValueError as error:
        skipped.append(error)


def _html_text(html, path):
  """Returns the text of an HTML page, block by block."""
  # The extra "search" installs it.
  from lxml import etree

  parser = etree.HTMLParser(encoding="utf-8", huge_tree=True)
  page = etree.fromstring(html.encode("utf-8"), parser)
  # Below its largest depth the parser leaves text out.
  if any("depth" in entry.message.lower() for entry in parser.error_log):
    raise ValueError(f"{path}: its tags are nested too deep. Save it as text.")
  if page is None:  # Nothing but comments.
    return ""
  texts = []
  walker = etree.iterwalk(page, events=("start", "end", "comment", "pi"))
  for event, tag in walker:
    gap = "\n\n" if tag.tag in _BLOCKS else "\n" if tag.tag == "br" else ""
    if event == "start":
      if tag.tag in ("script", "style", "template"):
        walker.skip_subtree()
      else:
        texts += [gap, tag.text or ""]
    else:
      texts += [gap, tag.tail or ""]
  return "".join(texts).strip()


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
