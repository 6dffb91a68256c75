"""The sizes of a BERT encoder, read from bert_config.json or config.json."""

import dataclasses

from bert_span.storage.files import read_json_object

# All are computed in the tanh form, which is what the original calls "gelu".
_GELU_NAMES = ("gelu", "gelu_new", "gelu_pytorch_tanh")
# The defaults of Hugging Face's BertConfig that differ from the original's.
_HUGGINGFACE_DEFAULTS = {"type_vocab_size": 2, "vocab_size": 30522}


@dataclasses.dataclass(frozen=True)
class EncoderConfig:
  """Sizes and rates of a BERT encoder under KerasHub's names.

  The defaults are those of the original's BertConfig.

  Attributes:
    vocabulary_size: WordPieces in the vocabulary.
    num_layers: transformer layers.
    num_heads: attention heads in a layer.
    hidden_dim: width of a token's vector.
    intermediate_dim: width inside the feed-forward part.
    dropout: rate after embeddings, attention and feed-forward.
    attention_dropout: rate on the attention probabilities.
    max_sequence_length: rows of the position table, in WordPieces.
    num_segments: rows of the segment table; the released files all say 2.
    initializer_range: standard deviation of random weights.
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


# The keys of the configuration files.
_SIZES = {
  "vocabulary_size": "vocab_size",
  "num_layers": "num_hidden_layers",
  "num_heads": "num_attention_heads",
  "hidden_dim": "hidden_size",
  "intermediate_dim": "intermediate_size",
  "max_sequence_length": "max_position_embeddings",
  "num_segments": "type_vocab_size",
}
_RATES = {
  "dropout": "hidden_dropout_prob",
  "attention_dropout": "attention_probs_dropout_prob",
}


def read_bert_config(path):
  """Reads the original's bert_config.json as an EncoderConfig.

  As the original does, missing keys take the defaults of its class and unknown
  keys are ignored. ValueError if the encoder cannot be built.

  Source: google-research/bert, modeling.py, BertConfig.
  """
  return _to_config(read_json_object(path), path)


def huggingface_config(values, path):
  """The EncoderConfig of the values in a Hugging Face config.json."""
  return _to_config({**_HUGGINGFACE_DEFAULTS, **values}, path)


def _to_config(values, path):
  """Checks the values of a configuration file and renames them."""
  if "vocab_size" not in values:
    raise ValueError(
      f'{path} lacks the key "vocab_size". Is it a BERT configuration? '
      f"Received the keys: {', '.join(sorted(values))}"
    )

  def check(is_right, key, rule):
    if not is_right:
      raise ValueError(
        f"{path}: {key} must be {rule}. Received: {values[key]!r}"
      )

  fields = {}
  for field, key in _SIZES.items():
    if key in values:
      size = fields[field] = values[key]
      is_size = type(size) is int and size >= 1
      check(is_size, key, "a whole number of at least 1")
  for field, key in _RATES.items():
    if key in values:
      # As the original's dropout(), which takes None.
      rate = fields[field] = 0.0 if values[key] is None else values[key]
      is_rate = type(rate) in (int, float) and 0 <= rate < 1
      check(is_rate, key, "a number of at least 0 and below 1")
  if (key := "initializer_range") in values:
    deviation = fields[key] = values[key]
    is_deviation = type(deviation) in (int, float) and deviation > 0
    check(is_deviation, key, "a number above 0")
  check(
    values.get("hidden_act", "gelu") in _GELU_NAMES,
    "hidden_act",
    f"one of {', '.join(_GELU_NAMES)}, because the encoder computes the tanh "
    "form of GELU as the original does",
  )
  config = EncoderConfig(**fields)
  if config.hidden_dim % config.num_heads:
    raise ValueError(
      f"{path}: hidden_size must be a multiple of num_attention_heads. "
      f"Received: hidden_size={config.hidden_dim}, "
      f"num_attention_heads={config.num_heads}"
    )
  return config
