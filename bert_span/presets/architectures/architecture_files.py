"""What describes an architecture in the files of transformers and others."""

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
  prefix: str  # of its tensors in a model with a head
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
  # Further keys, and the values with which this is computed; the first one is
  # written. None is a missing key.
  values: dict[str, tuple] = dataclasses.field(default_factory=dict)
  # Keys that are written, and change nothing here.
  written: dict = dataclasses.field(default_factory=dict)
  # Kinds of vocabularies whose tokens it takes, the usual one first.
  tokens: tuple[str, ...] = (WORD_PIECES,)
  # Whose ids its SentencePieces have, see `PIECE_FAMILIES`.
  piece_family: str | None = None
  piece_file: str = ""  # the usual name of their model
  keras_tokenizer: type | None = None  # KerasHub's, of its usual vocabulary
  padding_rows: int = 128  # most rows of its embeddings beyond the vocabulary
  # Row of the position table for the first token. If it is not 0, positions
  # count from padding, whose id is before it.
  first_position: int = 0
  # Names of tensors in TensorFlow 1 checkpoints, without "bert/".
  original_weight_names: Callable | None = None
  # Gives the values of config.json by `keys`, if files also have others.
  older_values: Callable | None = None
  check_transformers: Callable | None = None  # refuses what it cannot compute

  @property
  def padding_id(self):
    """The id of padding that the encoder asks for, None if it asks for none."""
    return self.first_position - 1 if self.first_position else None


def files_of(name):
  """The `ArchitectureFiles` of a name in `ARCHITECTURES`, from its module."""
  room = __name__.rpartition(".")[0]
  module = importlib.import_module(f"{room}.{name.replace('-', '_')}")
  return module.FILES


def all_files():
  """Dict of the `ArchitectureFiles` of all architectures, by their names."""
  return {name: files_of(name) for name in ARCHITECTURES}
