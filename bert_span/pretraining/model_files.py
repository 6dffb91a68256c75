"""What pre-training leaves: our model directory, and others' formats of it."""

import dataclasses
import os

from bert_span.modeling import encoder
from bert_span.presets.tokenizer_files import save_tokenizer
from bert_span.pretraining.heads import encoder_export
from bert_span.pretraining.heads import weights as pretraining_heads
from bert_span.pretraining.heads.model import PretrainingModel
from bert_span.storage.atomic_file import (
  write_json_atomically,
  write_text_atomically,
)
from bert_span.storage.log import log_line


@dataclasses.dataclass(frozen=True)
class PretrainedModelFiles:
  """Writes a pre-trained model into an empty directory.

  Attributes:
    model: `PretrainingModel`.
    vocabulary: list of str, a WordPiece an id.
    lower_case: whether text is lower-cased.
  """

  model: PretrainingModel
  vocabulary: list
  lower_case: bool

  def write_model(self, directory):
    """Writes what --preset takes."""
    backbone = self.model.backbone
    rate = encoder.attention_dropout(backbone)
    if rate != backbone.dropout:
      log_line(
        f"The model keeps one dropout rate, {backbone.dropout}; the {rate} of "
        "the attention is in the exports."
      )
    backbone.save_to_preset(directory)
    save_tokenizer(directory, self.vocabulary, self.lower_case)
    pretraining_heads.save_heads(self.model, directory)

  def write_tf1(self, directory):
    """Writes a TensorFlow 1 checkpoint with the original's names."""
    encoder_export.export_tf1(self.model.backbone, directory, self._heads())
    self._write_vocabulary(directory)

  def write_huggingface(self, directory):
    """Writes a BERT directory of transformers."""
    encoder_export.export_huggingface(
      self.model.backbone, directory, self._heads()
    )
    self._write_vocabulary(directory)
    write_json_atomically(
      os.path.join(directory, "tokenizer_config.json"),
      {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": self.lower_case,
        "model_max_length": self.model.backbone.max_sequence_length,
      },
    )

  def _write_vocabulary(self, directory):
    write_text_atomically(
      os.path.join(directory, "vocab.txt"),
      "".join(f"{token}\n" for token in self.vocabulary),
    )

  def _heads(self):
    variables = pretraining_heads.head_variables(self.model)
    return {name: variable.numpy() for name, variable in variables.items()}
