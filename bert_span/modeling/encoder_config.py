"""The sizes of a BERT encoder, read from bert_config.json or config.json."""

import dataclasses

from bert_span.storage.files import read_json_object

# The original's BertConfig defaults; vocab_size has none.
_ORIGINAL_DEFAULTS = {
  "hidden_size": 768,
  "num_hidden_layers": 12,
  "num_attention_heads": 12,
  "intermediate_size": 3072,
  "hidden_act": "gelu",
  "hidden_dropout_prob": 0.1,
  "attention_probs_dropout_prob": 0.1,
  "max_position_embeddings": 512,
  # As in the original's class: the released files all say 2.
  "type_vocab_size": 16,
  "initializer_range": 0.02,
}
# Hugging Face's BertConfig differs in these two.
_HUGGINGFACE_DEFAULTS = {
  **_ORIGINAL_DEFAULTS,
  "type_vocab_size": 2,
  "vocab_size": 30522,
}
# All are computed in the tanh form, which is what the original calls "gelu".
_GELU_NAMES = ("gelu", "gelu_new", "gelu_pytorch_tanh")


@dataclasses.dataclass(frozen=True)
class EncoderConfig:
  """Sizes and rates of a BERT encoder, in KerasHub's words.

  Attributes:
    vocabulary_size: WordPieces in the vocabulary (vocab_size).
    num_layers: transformer layers (num_hidden_layers).
    num_heads: attention heads in a layer (num_attention_heads).
    hidden_dim: width of a token's vector (hidden_size).
    intermediate_dim: width inside the feed-forward part (intermediate_size).
    dropout: rate after embeddings, attention and feed-forward
      (hidden_dropout_prob).
    attention_dropout: rate on the attention probabilities
      (attention_probs_dropout_prob).
    max_sequence_length: rows of the position table, in WordPieces
      (max_position_embeddings).
    num_segments: rows of the segment table (type_vocab_size).
    initializer_range: standard deviation of random weights.
    hidden_act: "gelu" in the tanh form, the only one BertBackbone computes.
  """

  vocabulary_size: int
  num_layers: int = 12
  num_heads: int = 12
  hidden_dim: int = 768
  intermediate_dim: int = 3072
  dropout: float = 0.1
  attention_dropout: float = 0.1
  max_sequence_length: int = 512
  num_segments: int = 16
  initializer_range: float = 0.02
  hidden_act: str = "gelu"


def read_bert_config(path):
  """Reads the original's bert_config.json.

  Missing keys take the original class's defaults, unknown keys are ignored,
  as the original does.

  Args:
    path: a file, local or of any tf.io.gfile file system.

  Returns:
    An EncoderConfig.

  Raises:
    ValueError: the file is missing, is not JSON, or describes an encoder that
      cannot be built.

  Source: google-research/bert, modeling.py, BertConfig.
  """
  return _to_config(read_json_object(path), _ORIGINAL_DEFAULTS, path)


def huggingface_config(values, path):
  """Reads the same sizes out of a Hugging Face config.json's values."""
  return _to_config(values, _HUGGINGFACE_DEFAULTS, path)


def _to_config(values, defaults, path):
  """Checks the values of a configuration file and renames them."""
  values = {**defaults, **values}
  if "vocab_size" not in values:
    raise ValueError(
      f'{path} lacks the key "vocab_size". Is it a BERT configuration? '
      f"Received the keys: {', '.join(sorted(values.keys() - defaults.keys()))}"
    )

  def size(key):
    return _checked_size(values[key], key, path)

  def rate(key):
    return _checked_rate(values[key], key, path)

  config = EncoderConfig(
    vocabulary_size=size("vocab_size"),
    num_layers=size("num_hidden_layers"),
    num_heads=size("num_attention_heads"),
    hidden_dim=size("hidden_size"),
    intermediate_dim=size("intermediate_size"),
    dropout=rate("hidden_dropout_prob"),
    attention_dropout=rate("attention_probs_dropout_prob"),
    max_sequence_length=size("max_position_embeddings"),
    num_segments=size("type_vocab_size"),
    initializer_range=_checked_number(
      values["initializer_range"], "initializer_range", path
    ),
    hidden_act=values["hidden_act"],
  )
  _check_relations(config, path)
  return config


def _check_relations(config, path):
  if config.hidden_dim % config.num_heads:
    raise ValueError(
      f"{path}: hidden_size must be a multiple of num_attention_heads. "
      f"Received: hidden_size={config.hidden_dim}, "
      f"num_attention_heads={config.num_heads}"
    )
  if config.hidden_act not in _GELU_NAMES:
    raise ValueError(
      f"{path}: hidden_act must be one of {', '.join(_GELU_NAMES)}; the "
      "encoder computes the tanh form of GELU, as the original does. "
      f"Received: {config.hidden_act!r}"
    )
  if config.initializer_range <= 0:
    raise ValueError(
      f"{path}: initializer_range must be above 0. "
      f"Received: {config.initializer_range}"
    )


def _checked_size(value, key, path):
  if isinstance(value, bool) or not isinstance(value, int) or value < 1:
    raise ValueError(
      f"{path}: {key} must be a whole number of at least 1. Received: {value!r}"
    )
  return value


def _checked_number(value, key, path):
  if isinstance(value, bool) or not isinstance(value, (int, float)):
    raise ValueError(f"{path}: {key} must be a number. Received: {value!r}")
  return float(value)


def _checked_rate(value, key, path):
  value = 0.0 if value is None else value  # As in the original's dropout().
  rate = _checked_number(value, key, path)
  if not 0 <= rate < 1:
    raise ValueError(
      f"{path}: {key} must be at least 0 and below 1. Received: {value!r}"
    )
  return rate
