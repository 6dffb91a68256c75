"""Where a program's model comes from."""

import dataclasses
import hashlib
import re

import numpy as np

from bert_span.presets import load_pretrained
from bert_span.text.vocabulary import load_vocabulary

# As run_squad: the names of released checkpoints say whether they are cased.
_UNCASED_NAME = re.compile(r"uncased_L-|multilingual_L-|chinese_L-")
_CASED_NAME = re.compile(r"(?<!un)cased_L-")


@dataclasses.dataclass(frozen=True)
class EncoderSource:
  """Where an encoder and its vocabulary come from.

  Attributes:
    preset: what `load_pretrained.load_pretrained` takes, or None.
    bert_config_file: of the original, or None.
    init_checkpoint: TensorFlow 1 checkpoint, or None for random weights.
    vocab_file: vocabulary; None takes the preset's.
    do_lower_case: None takes the preset's, else True.
  """

  preset: str | None = None
  bert_config_file: str | None = None
  init_checkpoint: str | None = None
  vocab_file: str | None = None
  do_lower_case: bool | None = None

  def load(self, dtype=None):
    """Loads the encoder as a LoadedEncoder; ValueError if there is none.

    Args:
      dtype: a Keras dtype policy or its name; None is Keras' current one.
    """
    self._check_case()
    if self.preset:
      return load_pretrained.load_pretrained(self.preset, dtype)
    return load_pretrained.load_original(
      self.bert_config_file, self.init_checkpoint or "", dtype
    )

  def weights_digest(self, loaded):
    """SHA-256 of the weights of a LoadedEncoder that is not trained yet.

    A run must be continued from the same weights, wherever the files are. None
    for random weights, which follow from the seed.
    """
    if not (self.preset or self.init_checkpoint):
      return None
    digest = hashlib.sha256()
    for weight in loaded.backbone.weights:
      digest.update(weight.numpy())
    for _, tensors in sorted(loaded.head_weights.items()):
      # The kernel first, as in the digests of earlier runs.
      for name in sorted(tensors, reverse=True):
        digest.update(np.ascontiguousarray(tensors[name]))
    return digest.hexdigest()

  def vocabulary(self, loaded):
    """The vocabulary of a LoadedEncoder, a list of tokens."""
    vocab_file = self.vocab_file or loaded.vocabulary_path
    if not vocab_file:
      raise ValueError(
        f"{loaded.description} has no vocabulary. Give its --vocab_file."
      )
    return load_vocabulary(vocab_file)

  def lower_case(self, loaded):
    """Whether text is lower-cased for a LoadedEncoder."""
    if self.do_lower_case is None:
      return True if loaded.lower_case is None else loaded.lower_case
    if loaded.lower_case not in (None, self.do_lower_case):
      raise ValueError(
        f"--do_lower_case={self.do_lower_case} contradicts "
        f"{loaded.description}, which was trained with "
        f"{loaded.lower_case}. Leave the flag out."
      )
    return self.do_lower_case

  def _check_case(self):
    """Refuses a case that contradicts the name of a released checkpoint."""
    checkpoint = self.init_checkpoint or ""
    lower = self.do_lower_case is not False
    if lower and _CASED_NAME.search(checkpoint):
      raise ValueError(
        f"--init_checkpoint={checkpoint} is a cased model, but do_lower_case "
        "is true. Give --do_lower_case=false."
      )
    if not lower and _UNCASED_NAME.search(checkpoint):
      raise ValueError(
        f"--init_checkpoint={checkpoint} is an uncased model, but "
        "--do_lower_case=false was given. Leave it out."
      )
