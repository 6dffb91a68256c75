"""The sizes of a BERT encoder, and KerasHub's BertBackbone with these sizes."""

import dataclasses

import keras
import keras_hub

from bert_span.modeling.keras_internals import sublayers
from bert_span.storage.files import read_json_object
from bert_span.storage.options import (
  REQUIRED,
  check_option,
  check_options,
  option,
)

# All are computed in the tanh form, which is what the original calls "gelu".
_ACTIVATIONS = ("gelu", "gelu_new", "gelu_pytorch_tanh")
# The fields of EncoderConfig that bert_config.json has under other names.
_BERT_KEYS = {
  "vocabulary_size": "vocab_size",
  "num_layers": "num_hidden_layers",
  "num_heads": "num_attention_heads",
  "hidden_dim": "hidden_size",
  "intermediate_dim": "intermediate_size",
  "dropout": "hidden_dropout_prob",
  "attention_dropout": "attention_probs_dropout_prob",
  "max_sequence_length": "max_position_embeddings",
  "num_segments": "type_vocab_size",
  "activation": "hidden_act",
}
# The defaults of Hugging Face's BertConfig that differ from the original's.
_HUGGINGFACE_DEFAULTS = {"type_vocab_size": 2, "vocab_size": 30522}
# The standard deviation that BertBackbone initializes with.
_KERASHUB_INITIALIZER_RANGE = 0.02


def _size(default, help, maximum=2**24):
  return option(default, help, minimum=1, maximum=maximum)


def _dropout(help):
  return option(0.1, help, minimum=0.0, below=1.0)


@dataclasses.dataclass(frozen=True)
class EncoderConfig:
  """The architecture of a BERT encoder under KerasHub's names.

  The defaults are those of the original's BertConfig. A ValueError names a
  field whose value breaks its rule.
  """

  vocabulary_size: int = _size(REQUIRED, "WordPieces in the vocabulary.")
  num_layers: int = _size(12, "Transformer layers.", maximum=1000)
  num_heads: int = _size(12, "Attention heads in a layer.")
  hidden_dim: int = _size(768, "Width of a token's vector.")
  intermediate_dim: int = _size(3072, "Width inside the feed-forward part.")
  dropout: float = _dropout("Rate after embeddings, attention, feed-forward.")
  attention_dropout: float = _dropout("Rate on the attention probabilities.")
  max_sequence_length: int = _size(512, "Rows of the position table.")
  # The released files all say 2.
  num_segments: int = _size(16, "Rows of the segment table.")
  initializer_range: float = option(
    0.02, "Standard deviation of random weights.", above=0.0
  )
  activation: str = option(
    "gelu",
    "Activation of the feed-forward part, computed in the tanh form of GELU.",
    choices=_ACTIVATIONS,
  )

  def __post_init__(self):
    check_options(self)
    if self.hidden_dim % self.num_heads:
      raise ValueError(
        "the hidden size must be a multiple of the number of attention heads. "
        f"Received: {self.hidden_dim} and {self.num_heads}"
      )


def read_bert_config(path):
  """Reads the original's bert_config.json as an `EncoderConfig`.

  As the original does, missing keys take the defaults of its class and unknown
  keys are ignored. Source: google-research/bert, modeling.py, BertConfig.
  """
  return parse_config(read_json_object(path), path, _BERT_KEYS)


def huggingface_config(values, path):
  """The `EncoderConfig` of the values in a Hugging Face config.json."""
  return parse_config({**_HUGGINGFACE_DEFAULTS, **values}, path, _BERT_KEYS)


def parse_config(values, path, keys=None):
  """The `EncoderConfig` of a JSON object of a file.

  `keys` has the keys of the fields that do not have the field's name.
  ValueError with path and key if a value is impossible.
  """
  found, key = {}, ""
  try:
    for field in dataclasses.fields(EncoderConfig):
      key = (keys or {}).get(field.name, field.name)
      if key not in values and field.default is REQUIRED:
        raise ValueError(
          f"it is missing; the keys are {', '.join(sorted(values))}. Is it a "
          "BERT configuration?"
        )
      if key in values:
        value = values[key]
        if value is None and field.name.endswith("dropout"):
          value = 0.0  # As the original's dropout().
        check_option(field, value)
        found[field.name] = value
    key = "sizes"
    return EncoderConfig(**found)
  except ValueError as error:
    raise ValueError(f"{path}: {key}: {error}. Correct it.") from error


def build_encoder(config, dtype=None):
  """Builds an encoder with random weights.

  BertBackbone has the original's arithmetic: GELU in the tanh form, LayerNorm
  epsilon 1e-12 and normalization after each residual. It does not take a
  separate dropout rate for the attention probabilities or an
  initializer_range. They are applied afterwards.

  Args:
    config: an EncoderConfig.
    dtype: a Keras dtype policy or its name; None is Keras' current one.

  Returns:
    A keras_hub.models.BertBackbone.

  Source: google-research/bert, modeling.py, BertModel.
  """
  sizes = dataclasses.asdict(config)
  for name in ("attention_dropout", "initializer_range", "activation"):
    del sizes[name]
  # A layer built with rate 0 skips dropout forever: build with the higher
  # rate, then lower it where it is too high.
  sizes["dropout"] = max(config.dropout, config.attention_dropout)
  backbone = keras_hub.models.BertBackbone(**sizes, dtype=dtype)
  if config.dropout != config.attention_dropout:
    _set_dropout(backbone, config.dropout, config.attention_dropout)
  scale = config.initializer_range / _KERASHUB_INITIALIZER_RANGE
  if scale != 1:
    # A truncated normal is cut at two deviations, so s times a draw with
    # deviation d is a draw with deviation s * d.
    for weight in backbone.weights:
      if weight.path.endswith(("/kernel", "/embeddings")):
        weight.assign(weight * scale)
  return backbone


def check_sequence_length(backbone, max_seq_length):
  """Refuses windows that the encoder has no position embeddings for."""
  if max_seq_length > backbone.max_sequence_length:
    raise ValueError(
      f"max_seq_length must be at most {backbone.max_sequence_length}, the "
      "number of positions this encoder was trained with. "
      f"Received: {max_seq_length}. Lower --max_seq_length."
    )


def attention_dropout(backbone):
  """The rate on the attention probabilities, which a preset cannot hold."""
  return _attention_dropout_layer(backbone.transformer_layers[0]).rate


def with_attention_dropout(backbone, rate):
  """The encoder, or a copy with another rate on the attention probabilities."""
  if attention_dropout(backbone) == rate:
    return backbone
  settings = {**backbone.get_config(), "dropout": max(backbone.dropout, rate)}
  copy = type(backbone).from_config(settings)
  copy.set_weights(backbone.get_weights())
  _set_dropout(copy, backbone.dropout, rate)
  return copy


def _set_dropout(backbone, hidden_rate, attention_rate):
  """Changes the rates of a built encoder, each at most the one built with."""
  for layer in sublayers(backbone, keras.layers.Dropout):
    layer.rate = hidden_rate
  for layer in backbone.transformer_layers:
    _attention_dropout_layer(layer).rate = attention_rate
  backbone.dropout = hidden_rate  # For the config.json of a preset.


def _attention_dropout_layer(transformer_layer):
  (attention,) = sublayers(transformer_layer, keras.layers.MultiHeadAttention)
  (dropout,) = sublayers(attention, keras.layers.Dropout)
  return dropout
