"""Saved outputs of the original run_squad, and the data they belong to."""

import dataclasses
import functools
import gzip
import json
import os

import numpy as np

from bert_span.squad.reader import read_squad
from bert_span.text.vocabulary import load_vocabulary

_VOCABULARY = os.path.join("tiny_ckpt", "vocab.txt")


@dataclasses.dataclass(frozen=True)
class GoldenFiles:
  """A folder of saved outputs.

  Attributes:
    folder: of the outputs.
    data_folder: of the SQuAD files that they were made from.
    vocab_file: the vocabulary they were made with; None takes that of the tiny
      checkpoint in `folder`.
  """

  folder: str
  data_folder: str
  vocab_file: str | None = None

  @functools.cached_property
  def vocabulary(self):
    """List of tokens."""
    return load_vocabulary(self.vocab_file or self.path(_VOCABULARY))

  def path(self, name):
    """The path of a file, which is there.

    Args:
      name: relative to the folder.

    Raises:
      FileNotFoundError: it is not.
    """
    path = os.path.join(self.folder, name)
    if not os.path.exists(path):
      raise FileNotFoundError(
        f"{path} is not there. --goldens must name the folder with the "
        "original's outputs; leave out by --points what it does not hold."
      )
    return path

  def has(self, name):
    """Whether a file is there."""
    return os.path.exists(os.path.join(self.folder, name))

  def read(self, name):
    """The value of a .json or .json.gz, the list of those of a .jsonl.gz."""
    path = self.path(name)
    opener = gzip.open if name.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
      if ".jsonl" in name:
        return [json.loads(line) for line in file]
      return json.load(file)

  def arrays(self, name):
    """Dict of the arrays of an .npz."""
    with np.load(self.path(name)) as arrays:
      return dict(arrays)

  def squad_path(self, name):
    """The path of a SQuAD file: the edge cases stand beside the outputs."""
    if self.has(name):
      return self.path(name)
    path = os.path.join(self.data_folder, name)
    if not os.path.exists(path):
      raise FileNotFoundError(
        f"{path} is not there. --data must name the folder with the SQuAD "
        "files that the original's outputs were made from."
      )
    return path

  def squad_file(self, name):
    """The `SquadFile` of that name."""
    return read_squad(self.squad_path(name))
