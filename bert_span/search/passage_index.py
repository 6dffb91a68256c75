"""A BM25 index of passages."""

import hashlib
import logging
import os
import re
import unicodedata

from bert_span.storage.atomic_file import (
  recover_directory,
  replaced_directory,
  write_json_atomically,
)
from bert_span.storage.files import (
  checked_object,
  file_sha256,
  is_remote,
  read_json_object,
)
from bert_span.storage.log import log_line

_MANIFEST = "texts.json"
# All files of an index, with bm25s' names.
_INDEX_FILES = {
  *("data.csc.index.npy", "indices.csc.index.npy", "indptr.csc.index.npy"),
  *("vocab.index.json", "params.index.json", "nonoccurrence_array.index.npy"),
  _MANIFEST,
}
# Indexing this many texts takes seconds.
_MANY_TEXTS = 100_000
# Scripts without blanks between words: Thai and Lao, Burmese, Khmer, kana, Han.
_UNSPACED = (
  "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf"
  "\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_RUNS = re.compile(f"([{_UNSPACED}]+)|[^\\s{_UNSPACED}]+")


class PassageIndex:
  """Finds passages by BM25.

  Example:

      index = PassageIndex(["The mill was built in 1895.", "A bridge fell."])
      index.search("When was the mill built?", 1)  # [0]

  A local directory keeps the index. If it already has an index of these texts,
  that is read. The directory must be new, or have nothing but an index.

  Source: Robertson and Zaragoza 2009; the bm25s package.
  """

  def __init__(self, texts, directory=None):
    # The extra "search" installs it.
    import bm25s

    # It logs every index that it makes.
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    self._size = len(texts)
    digest = hashlib.sha256()
    for text in texts:
      encoded = text.encode("utf-8", "surrogatepass")
      digest.update(b"%d\0%b" % (len(encoded), encoded))
    stored = {"format": 2, "texts": self._size, "sha256": digest.hexdigest()}
    if directory and _has_index(directory, stored):
      self._index = bm25s.BM25.load(directory, show_progress=False)
      return
    if self._size >= _MANY_TEXTS:
      log_line(f"Indexing {self._size:,} passages ...")
    words_of_texts = list(map(words, texts))
    if not any(words_of_texts):
      raise ValueError("The passages have no word to find them by.")
    self._index = bm25s.BM25()
    self._index.index(words_of_texts, show_progress=False)
    if directory:
      with replaced_directory(
        directory, keeps=lambda name: name not in _INDEX_FILES
      ) as unfinished:
        self._index.save(unfinished, show_progress=False)
        stored["files"] = _digests(unfinished)
        write_json_atomically(os.path.join(unfinished, _MANIFEST), stored)

  def search(self, question, top_k):
    """Returns numbers of the best passages that have a word of the question."""
    question_words = words(question)
    if not question_words:
      return []
    numbers, scores = self._index.retrieve(
      [question_words], k=min(top_k, self._size), show_progress=False
    )
    return numbers[0][scores[0] > 0].tolist()


def words(text):
  """Returns the words of a text in lower case, as BM25 counts them.

  In a script without blanks, each pair of neighbouring characters is a word.
  """
  text = unicodedata.normalize("NFKC", text).casefold().translate(_SEPARATED)
  result = []
  for match in _RUNS.finditer(text):
    run = match.group()
    if match.group(1) and len(run) > 1:
      result += [run[i : i + 2] for i in range(len(run) - 1)]
    else:
      result.append(run)
  return result


class _Separated(dict):
  """Letters, digits and marks by code point; other characters give a blank."""

  def __missing__(self, code):
    character = chr(code)
    is_part = character.isalnum() or unicodedata.category(character)[0] == "M"
    self[code] = character if is_part else " "
    return self[code]


_SEPARATED = _Separated()


def _digests(directory):
  names = sorted(os.listdir(directory))
  return {name: file_sha256(os.path.join(directory, name)) for name in names}


def _has_index(directory, expected):
  """Returns whether a directory has an intact index of the expected texts."""
  if is_remote(directory):
    raise ValueError(
      f"An index of passages needs a local folder. Received: {directory}"
    )
  recover_directory(directory)
  if not os.path.lexists(directory):
    return False
  names = set(os.listdir(directory)) if os.path.isdir(directory) else {""}
  if not names:
    return False
  path = os.path.join(directory, _MANIFEST)
  stored = read_json_object(path) if _MANIFEST in names else {}
  files = checked_object(stored.get("files", {}), f"{path}, files")
  # The files will be replaced, so the folder may have no files but an index's,
  # and no folder of such a name.
  foreign = {
    name
    for name in names
    if name not in _INDEX_FILES or os.path.isdir(os.path.join(directory, name))
  }
  if not expected.keys() <= stored.keys() or foreign:
    shown = ", ".join(sorted(foreign or names)[:3])
    raise ValueError(
      f"{directory} does not become an index of passages: it holds other files "
      f"({shown}). Name a new folder."
    )
  if {key: stored.get(key) for key in expected} != expected:
    return False
  is_whole = names == {*files, _MANIFEST} and all(
    file_sha256(os.path.join(directory, name)) == digest
    for name, digest in files.items()
  )
  if not is_whole:
    log_line(f"The index in {directory} is damaged: it is made again.")
  return is_whole
