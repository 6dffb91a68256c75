"""Saved outputs of the original run_squad, and their settings."""

import dataclasses
import functools
import gzip
import json
import os

import numpy as np

from bert_span.squad.reader import read_squad
from bert_span.squad.rules import prediction_examples, training_examples
from bert_span.text.options import WindowOptions
from bert_span.text.preprocessor import SpanPreprocessor
from bert_span.text.vocabulary import load_vocabulary

_VOCABULARY = os.path.join("tiny_ckpt", "vocab.txt")
_LONG = WindowOptions(384, 128, 64)
_SHORT = WindowOptions(128, 48, 24)
_TINY = WindowOptions(64, 16, 12)


@dataclasses.dataclass(frozen=True)
class Configuration:
  """The settings of one run of the original."""

  name: str  # The letter in the names of its outputs.
  file: str  # Its SQuAD file.
  is_training: bool  # Whether windows are labelled.
  version_2: bool  # run_squad's --version_2_with_negative.
  options: WindowOptions
  is_part: bool = False  # The original read a longer file in another order.

  @property
  def is_real(self):
    """Whether these are SQuAD's questions and not edge cases."""
    return "edge" not in self.file


REAL = (
  Configuration("a", "squad1_dev_half.json", False, False, _LONG),
  Configuration("b", "squad1_train_part.json", True, False, _LONG),
  Configuration("c", "squad1_dev_half.json", False, False, _SHORT),
  Configuration("d", "squad1_train_part.json", True, False, _SHORT),
  Configuration("e", "squad2_part.json", True, True, _LONG, is_part=True),
  Configuration("f", "squad2_part.json", False, True, _LONG, is_part=True),
)
EDGE = (
  Configuration("g", "edge.json", True, False, _TINY),
  Configuration("h", "edge.json", False, False, _TINY),
  Configuration("i", "edge-v2.json", True, True, _LONG),
  Configuration("j", "edge-v2.json", False, True, _LONG),
  # A stride larger than the window.
  Configuration("k", "edge.json", True, False, WindowOptions(40, 64, 20)),
)


@dataclasses.dataclass(frozen=True)
class GoldenFiles:
  """The folders of saved outputs and of the SQuAD files they were made from."""

  folder: str
  data_folder: str
  vocab_file: str | None = None  # None: of the tiny checkpoint in `folder`.

  @functools.cached_property
  def vocabulary(self):
    """List of tokens."""
    return load_vocabulary(self.vocab_file or self.path(_VOCABULARY))

  def path(self, name):
    """The path of an output; raises FileNotFoundError if it is missing."""
    path = os.path.join(self.folder, name)
    if not os.path.exists(path):
      raise FileNotFoundError(
        f"{path} does not exist. --goldens must name the folder with the "
        "original's outputs; --points chooses the checks that it has files for."
      )
    return path

  def has(self, name):
    """Whether an output exists."""
    return os.path.exists(os.path.join(self.folder, name))

  def read(self, name):
    """The value of a .json or .json.gz file, the rows of a .jsonl.gz file."""
    path = self.path(name)
    opener = gzip.open if name.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
      if ".jsonl" in name:
        return [json.loads(line) for line in file]
      return json.load(file)

  def arrays(self, name):
    """Dict of the arrays of an .npz file."""
    with np.load(self.path(name)) as arrays:
      return dict(arrays)

  def squad_file(self, name):
    """The `SquadFile` of that name; the edge cases are among the outputs."""
    if self.has(name):
      return read_squad(self.path(name))
    path = os.path.join(self.data_folder, name)
    if not os.path.exists(path):
      raise FileNotFoundError(
        f"{path} does not exist. --data must name the folder with the SQuAD "
        "files that the original's outputs were made from."
      )
    return read_squad(path)

  def examples(self, configuration):
    """All examples of a configuration, or those that it trains on."""
    select = (
      training_examples if configuration.is_training else prediction_examples
    )
    return select(self.squad_file(configuration.file), configuration.version_2)

  def preprocessor(self, configuration, pad_to_max=False):
    """The `SpanPreprocessor` of a configuration."""
    return SpanPreprocessor(
      self.vocabulary, options=configuration.options, pad_to_max=pad_to_max
    )
