"""Describes an architecture in the files of transformers and other packages."""

import dataclasses
import importlib
from collections.abc import Callable

from bert_span.modeling.architectures import ARCHITECTURES
from bert_span.text.vocabulary import WORD_PIECES


@dataclasses.dataclass(frozen=True)
class ArchitectureFiles:
  """How an architecture is named, configured and stored in files.

  Names of weights are functions of an `EncoderConfig`, which give a dict from
  the paths of the backbone's weights to the names of stored tensors. Matrices
  of heads are flat there, [inputs, outputs] in the original's checkpoints and
  [outputs, inputs] in Hugging Face's. The name "x#1/3" is that of the second
  third of the rows of x.
  """

  class_name: str  # begins the names of its classes in transformers
  prefix: str  # before the names of its tensors in a model with a head
  keys: dict[str, str]  # fields of its EncoderConfig -> keys of config.json
  weight_names: Callable  # names of tensors in a model without a head
  # Weights of a span head -> tensors of its class for question answering.
  head: dict[str, str] = dataclasses.field(
    default_factory=lambda: {
      "kernel": "qa_outputs.weight",
      "bias": "qa_outputs.bias",
    }
  )
  # Keys that may be missing, and the values that transformers' class has then.
  defaults: dict = dataclasses.field(default_factory=dict)
  # Further keys -> the values that are computed here. The first one is written.
  # None is a missing key.
  values: dict[str, tuple] = dataclasses.field(default_factory=dict)
  # Keys -> values that are written and never read.
  written: dict = dataclasses.field(default_factory=dict)
  # Kinds of its vocabularies, the usual one first.
  tokens: tuple[str, ...] = (WORD_PIECES,)
  # The name in `PIECE_FAMILIES` that gives the ids of its SentencePieces.
  piece_family: str | None = None
  piece_file: str = ""  # the usual name of the SentencePiece model
  keras_tokenizer: type | None = None  # KerasHub's, for the usual vocabulary
  # The token table may have up to this many rows beyond the vocabulary.
  padding_rows: int = 128
  # Row of the position table for the first token. If it is not 0, positions
  # count from padding, whose id is before it.
  first_position: int = 0
  # Names of tensors in TensorFlow 1 checkpoints, without "bert/".
  original_weight_names: Callable | None = None
  # Function of config.json's values and its path, which renames keys of other
  # versions of transformers to those of `keys`.
  older_values: Callable | None = None
  # Refuses an `EncoderConfig` that transformers' class cannot compute.
  check_transformers: Callable | None = None

  @property
  def padding_id(self):
    """The id of padding that the encoder needs, None if any id will do."""
    return self.first_position - 1 if self.first_position else None


def files_of(name):
  """Returns the `ArchitectureFiles` of a name in `ARCHITECTURES`."""
  package = __name__.rpartition(".")[0]
  module = importlib.import_module(f"{package}.{name.replace('-', '_')}")
  return module.FILES


def all_files():
  """Returns a dict of the `ArchitectureFiles` of all architectures, by name."""
  return {name: files_of(name) for name in ARCHITECTURES}
