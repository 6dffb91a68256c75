"""A BM25 index of passages."""

import hashlib
import logging
import os

from bert_span.storage.atomic_file import (
  unfinished_directory,
  write_json_atomically,
)
from bert_span.storage.files import read_json_object

_TEXTS_FILE = "texts.json"


class PassageIndex:
  """Finds passages by BM25.

  Example:

      index = PassageIndex(["The mill was built in 1895.", "A bridge fell."])
      index.search("When was the mill built?", 1)  # [0]

  A directory keeps the index; if it already holds one of these texts, it is
  read.

  Source: Robertson and Zaragoza 2009; the bm25s package.
  """

  def __init__(self, texts, directory=None):
    # In the extra "search".
    import bm25s

    # It logs every index that it makes.
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    self._size = len(texts)
    digest = hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass"))
    stored = {"texts": self._size, "sha256": digest.hexdigest()}
    if directory and _read_stored(directory) == stored:
      self._index = bm25s.BM25.load(directory, show_progress=False)
      return
    self._index = bm25s.BM25()
    self._index.index(_words(texts), show_progress=False)
    if directory:
      with unfinished_directory(directory) as unfinished:
        self._index.save(unfinished, show_progress=False)
        write_json_atomically(os.path.join(unfinished, _TEXTS_FILE), stored)

  def search(self, question, top_k):
    """The numbers of the best passages that share a word with the question."""
    numbers, scores = self._index.retrieve(
      _words([question]), k=min(top_k, self._size), show_progress=False
    )
    return numbers[0][scores[0] > 0].tolist()


def _read_stored(directory):
  """Returns the fingerprint of the indexed texts; None without an index."""
  path = os.path.join(directory, _TEXTS_FILE)
  if not os.path.isdir(directory) or not os.listdir(directory):
    return None
  if not os.path.exists(path):
    raise ValueError(
      f"{directory} is no index of passages: it has no {_TEXTS_FILE}. Name a "
      "new folder."
    )
  return read_json_object(path)


def _words(texts):
  import bm25s

  # No stop words: they differ by language, and BM25 gives them small weights.
  return bm25s.tokenize(texts, stopwords=None, show_progress=False)
