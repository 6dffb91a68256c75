"""Saved outputs of the original run_squad, and their settings."""

import dataclasses
import functools
import gzip
import os
import zlib

import numpy as np

import bert_span
from bert_span.data.preprocessor import SpanPreprocessor
from bert_span.presets.vocabulary_files import load_vocabulary
from bert_span.squad.reader import read_squad
from bert_span.squad.rules import prediction_examples, training_examples
from bert_span.storage.files import parse_json, read_json_object
from bert_span.text.options import WindowOptions
from bert_span.text.tokenizer import WordPieceTokenizer

_HERE = os.path.dirname(os.path.abspath(__file__))
_PACKAGE = os.path.dirname(bert_span.__file__)
SAMPLE = os.path.join(_PACKAGE, "sample")
# Outputs for the sample in the package and for the edge cases beside them.
SAMPLE_GOLDENS = os.path.join(_HERE, "goldens")
# The plan of folders without configurations.json.
_DEFAULT_PLAN = os.path.join(_HERE, "squad.json")


@dataclasses.dataclass(frozen=True)
class Configuration:
  """The settings of one run of the original."""

  name: str  # Part of the names of its outputs.
  file: str  # Its SQuAD file.
  is_training: bool  # Whether windows are labelled.
  version_2: bool  # run_squad's --version_2_with_negative.
  options: WindowOptions
  is_part: bool = False  # The original read a longer file in another order.

  @property
  def is_edge_case(self):
    return self.file.startswith("edge")


@dataclasses.dataclass(frozen=True)
class GoldenFiles:
  """The folders of saved outputs and of the SQuAD files they were made from."""

  folder: str
  data_folder: str
  vocab_file: str | None = None  # None: of the tiny checkpoint in `folder`.

  @functools.cached_property
  def vocabulary(self):
    return load_vocabulary(self.vocab_file or self.path("tiny_ckpt/vocab.txt"))

  @functools.cached_property
  def tokenizer(self):
    return WordPieceTokenizer(self.vocabulary)

  @functools.cached_property
  def plan(self):
    """The settings of what was recorded, see tests/original/README.md."""
    path = os.path.join(self.folder, "configurations.json")
    return read_json_object(path if os.path.exists(path) else _DEFAULT_PLAN)

  @property
  def source(self):
    """A sentence: what wrote the outputs, and where they are."""
    writer = "google-research/bert run_squad (commit and versions not recorded)"
    if self.has("source.json"):  # a string: repository, commit and versions
      writer = self.read("source.json")
    return f"The original: {writer}; outputs in {self.folder}"

  @functools.cached_property
  def configurations(self):
    fields = ("name", "file", "is_training", "version_2")
    lengths = ("max_seq_length", "doc_stride", "max_query_length")
    configurations = {}
    for row in self.plan["configurations"]:
      values = [row[field] for field in fields]
      options = WindowOptions(*(row[length] for length in lengths))
      is_part = row.get("is_part", False)
      configurations[row["name"]] = Configuration(*values, options, is_part)
    return configurations

  @property
  def ordinary(self):
    return [c for c in self.configurations.values() if not c.is_edge_case]

  @property
  def edge_cases(self):
    return [c for c in self.configurations.values() if c.is_edge_case]

  def path(self, name):
    """The path of an output; raises FileNotFoundError if it is missing."""
    path = os.path.join(self.folder, name)
    if not os.path.exists(path):
      raise FileNotFoundError(
        f"{path} does not exist. --goldens must name the folder with the "
        "original's outputs; --checks chooses the checks that it has files for."
      )
    return path

  def has(self, name):
    return os.path.exists(os.path.join(self.folder, name))

  def read(self, name):
    """The value of a .json or .json.gz file, the rows of a .jsonl.gz file."""
    path = self.path(name)
    opener = gzip.open if name.endswith(".gz") else open
    try:
      with opener(path, "rb") as file:
        if ".jsonl" in name:
          return [parse_json(line, path) for line in file]
        return parse_json(file.read(), path)
    except (EOFError, zlib.error) as error:
      raise ValueError(f"{path} is not a whole gzip file ({error}).") from error

  def arrays(self, name):
    with np.load(self.path(name)) as arrays:
      return dict(arrays)

  def squad_file(self, name):
    """The `SquadFile` of that name; the edge cases are among the outputs."""
    folder = self.folder if self.has(name) else self.data_folder
    path = os.path.join(folder, name)
    if not os.path.exists(path):
      raise FileNotFoundError(
        f"{path} does not exist. --data must name the folder with the SQuAD "
        "files that the original's outputs were made from."
      )
    return read_squad(path)

  def examples(self, configuration):
    """All examples of a configuration, or those that it trains on."""
    is_training = configuration.is_training
    choose = training_examples if is_training else prediction_examples
    return choose(self.squad_file(configuration.file), configuration.version_2)

  def preprocessor(self, configuration, pad_to_max=False):
    return SpanPreprocessor(
      self.tokenizer, options=configuration.options, pad_to_max=pad_to_max
    )


def sample_goldens():
  name = "pretrained/minilm_squad/assets/tokenizer/vocabulary.txt"
  vocabulary = os.path.join(_PACKAGE, name)
  return GoldenFiles(SAMPLE_GOLDENS, SAMPLE, vocabulary)
