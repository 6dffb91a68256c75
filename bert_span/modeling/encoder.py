"""Encoders of the BERT family: a description, and KerasHub's model of it."""

import dataclasses
import functools

import keras

from bert_span.modeling.architectures import (
  ARCHITECTURES,
  MOBILEBERT_KEYS,
  architecture_of,
)
from bert_span.modeling.keras_internals import lora_products, sublayers
from bert_span.options.fields import (
  REQUIRED,
  CheckedOptions,
  check_option,
  option,
)
from bert_span.storage.files import read_json_object


def _gelu_tanh(x):
  return keras.activations.gelu(x, approximate=True)


# By Hugging Face's names.
_ACTIVATIONS = {
  "gelu": keras.activations.gelu,
  "gelu_pytorch_tanh": _gelu_tanh,
  "gelu_new": _gelu_tanh,
  "relu": keras.activations.relu,
  "relu6": keras.activations.relu6,
}
# The defaults of Hugging Face's BertConfig that differ from the original's.
_HUGGINGFACE_DEFAULTS = {
  "type_vocab_size": 2,
  "vocab_size": 30522,
  "hidden_act": "gelu",
  "activation": "gelu",
}
_size = functools.partial(option, minimum=1, maximum=2**24)
_dropout = functools.partial(option, minimum=0.0, below=1.0)


@dataclasses.dataclass(frozen=True)
class EncoderConfig(CheckedOptions):
  """An encoder by KerasHub's names; the defaults are those of BertConfig."""

  vocabulary_size: int = _size(REQUIRED, "WordPieces in the vocabulary.")
  num_layers: int = _size(12, "Transformer layers.", maximum=1000)
  num_heads: int = _size(12, "Attention heads in a layer.")
  hidden_dim: int = _size(768, "Width of a token's vector.")
  intermediate_dim: int = _size(3072, "Width inside the feed-forward part.")
  dropout: float = _dropout(
    0.1, "Rate after embeddings, attention, feed-forward."
  )
  attention_dropout: float = _dropout(0.1, "Rate on attention probabilities.")
  max_sequence_length: int = _size(512, "Rows of the position table.")
  # The released files all say 2.
  num_segments: int = _size(16, "Rows of the segment table.")
  initializer_range: float = option(
    0.02, "Standard deviation of random weights.", above=0.0
  )
  activation: str = option(
    "gelu_new",
    "Activation of the feed-forward part; gelu_new is GELU's tanh form.",
    choices=tuple(_ACTIVATIONS),
  )
  layer_norm_epsilon: float = option(
    1e-12, "Added to the variance by LayerNorm.", above=0.0
  )
  architecture: str = option(
    "bert", "Architecture of the encoder.", choices=tuple(ARCHITECTURES)
  )
  embedding_dim: int | None = _size(
    None, "Width of token embeddings (ELECTRA, MobileBERT), if not hidden_dim."
  )
  # MobileBERT's, with the defaults of its original; see `MobileBertBackbone`.
  trigram_input: bool = option(False, "Embed a token with its neighbours.")
  use_bottleneck: bool = option(False, "Compute layers at a smaller width.")
  intra_bottleneck_size: int | None = _size(
    None, "Width inside a layer with bottlenecks, if not hidden_dim."
  )
  use_bottleneck_attention: bool = option(
    False, "Compute attention from the bottleneck of the feed-forward part."
  )
  key_query_shared_bottleneck: bool = option(
    False, "Compute queries and keys from a bottleneck of their own."
  )
  num_feedforward_networks: int = _size(
    1, "Feed-forward networks in a layer.", maximum=1000
  )
  normalization_type: str = option(
    "layer_norm",
    "Normalization; no_norm scales and shifts only.",
    choices=("layer_norm", "no_norm"),
  )
  outer_norm_epsilon: float | None = option(
    None,
    "LayerNorm's epsilon after the embeddings and a layer's last feed-forward "
    "network, if not layer_norm_epsilon.",
    above=0.0,
  )
  position_buckets: int | None = _size(
    None, "Half the rows of DeBERTa's table of relative positions.", minimum=2
  )

  def __post_init__(self):
    super().__post_init__()
    if self.inner_dim % self.num_heads:
      raise ValueError(
        f"the {'bottleneck' if self.use_bottleneck else 'hidden'} size must be "
        "a multiple of the number of attention heads. "
        f"Received: {self.inner_dim} and {self.num_heads}"
      )
    if ARCHITECTURES[self.architecture].has_segments and self.num_segments < 2:
      raise ValueError(
        "the segment table (type_vocab_size) needs two rows, for the question "
        f"and the passage. Received: {self.num_segments}"
      )
    if "position_buckets" in ARCHITECTURES[self.architecture].sizes:
      positions, buckets = self.max_sequence_length, self.position_buckets
      if buckets is None or not buckets // 2 < positions - 1:
        raise ValueError(
          "position_buckets must be given, at least 2 and less than twice the "
          f"{positions} positions. Received: {buckets}"
        )

  @property
  def inner_dim(self):
    """Width of attention and feed-forward networks."""
    narrow = self.intra_bottleneck_size if self.use_bottleneck else None
    return narrow or self.hidden_dim


def read_bert_config(path):
  """Returns the `EncoderConfig` of the original's bert_config.json.

  As in its BertConfig, missing keys have defaults and unknown ones are ignored.
  A file with keys of MobileBERT's BertConfig describes a MobileBERT.
  """
  values = read_json_object(path)
  is_bert = values.keys().isdisjoint(MOBILEBERT_KEYS)
  name = "bert" if is_bert else "mobilebert"
  if values.get("hidden_act") == "gelu":
    values["hidden_act"] = "gelu_new"  # What the original calls "gelu".
  values["architecture"] = name
  return parse_config(values, path, ARCHITECTURES[name].huggingface_keys)


def huggingface_config(values, path):
  """Returns the `EncoderConfig` of the values in a Hugging Face config.json."""
  name = values.get("model_type")
  if str(name) not in ARCHITECTURES:  # A list cannot be looked up.
    raise ValueError(
      f"{path}: model_type must be one of {', '.join(ARCHITECTURES)}; other "
      f"architectures compute something else. Received: {name!r}"
    )
  architecture = ARCHITECTURES[name]
  defaults = {**_HUGGINGFACE_DEFAULTS, **architecture.huggingface_defaults}
  values = {**defaults, **values, "architecture": name}
  config = parse_config(values, path, architecture.huggingface_keys)
  positions = config.max_sequence_length - architecture.first_position
  return dataclasses.replace(config, max_sequence_length=positions)


def parse_config(values, path, keys):
  """Returns the `EncoderConfig` of a JSON object; keys: its names by field."""
  settings, key = {}, ""
  try:
    for field in dataclasses.fields(EncoderConfig):
      key = keys.get(field.name, field.name)
      value = values.get(key, field.default)
      if value is REQUIRED:
        raise ValueError(
          f"it is missing; the keys are {', '.join(sorted(values))}. Is it the "
          "configuration of an encoder?"
        )
      if value is None and field.name.endswith("dropout"):
        value = 0.0  # As the original's dropout().
      check_option(field, value)
      settings[field.name] = value
    key = "sizes"
    return EncoderConfig(**settings)
  except ValueError as error:
    raise ValueError(f"{path}: {key}: {error}. Correct it.") from error


def build_encoder(config, dtype=None):
  """Builds KerasHub's backbone of an `EncoderConfig` with random weights.

  What KerasHub's classes fix is set afterwards.

  Source: google-research/bert, modeling.py, BertModel.
  """
  architecture = ARCHITECTURES[config.architecture]
  check_precision(architecture, dtype)
  sizes = {
    argument: getattr(config, name)
    for name, argument in architecture.sizes.items()
  }
  if "embedding_dim" in sizes:
    sizes["embedding_dim"] = config.embedding_dim or config.hidden_dim
  # A layer built with rate 0 skips dropout forever: build with the higher
  # rate, then lower it where it is too high.
  dropout = max(config.dropout, config.attention_dropout)
  backbone = architecture.backbone(**sizes, dropout=dropout, dtype=dtype)
  for layer in sublayers(backbone, keras.layers.Dropout):
    layer.rate = config.dropout
  backbone.dropout = config.dropout  # For the config.json of a preset.
  if "layer_norm_epsilon" not in sizes:
    for layer in sublayers(backbone, keras.layers.LayerNormalization):
      layer.epsilon = config.layer_norm_epsilon
  activation = _ACTIVATIONS[config.activation]
  for layer in backbone.transformer_layers:
    _attention_dropout(layer).rate = config.attention_dropout
    layer.activation = activation
    for dense in sublayers(layer, keras.layers.Dense):
      if dense.name == "feedforward_intermediate_dense":
        dense.activation = activation
  # KerasHub draws with deviation 0.02. A truncated normal is cut at two
  # deviations, so s times a draw with deviation d is one with deviation s * d.
  scale = config.initializer_range / 0.02
  if scale != 1:
    for weight in backbone.weights:
      if weight.path.endswith(("/kernel", "/embeddings", "/rel_embedding")):
        weight.assign(weight * scale)
  return backbone


def encoder_config(backbone):
  """Returns the `EncoderConfig` that describes a backbone."""
  check_not_quantized(backbone)
  architecture = architecture_of(backbone)
  settings = {"layer_norm_epsilon": backbone.embeddings_layer_norm.epsilon}
  for name, argument in architecture.sizes.items():
    settings[name] = getattr(backbone, argument)
  layer = backbone.transformer_layers[0]
  names = {function: name for name, function in _ACTIVATIONS.items()}
  return EncoderConfig(
    **settings,
    dropout=backbone.dropout,
    attention_dropout=_attention_dropout(layer).rate,
    activation=names.get(layer.activation, architecture.activation),
    architecture=architecture.name,
  )


def merged_weights(model):
  """Pairs of a model's weights and their values, with what LoRA adds to them.

  LoRA's own weights are left out: the pairs are those of a model without it.
  """
  check_not_quantized(model)
  values, adapters = {}, set()
  for weight, scale, a, b in lora_products(model):
    adapters |= {id(a), id(b)}
    values[id(weight)] = weight + scale * keras.ops.matmul(a, b)
  return [
    (weight, keras.ops.convert_to_numpy(values.get(id(weight), weight)))
    for weight in model.weights
    if id(weight) not in adapters
  ]


def check_not_quantized(model):
  """Refuses a model with layers of 8 bits or fewer, as quantize makes them."""
  for layer in sublayers(model):
    if layer.quantization_mode:
      raise ValueError(
        f"The layer {layer.path} is quantized ({layer.quantization_mode}). "
        "Such a model is not saved and does not answer: load it again, and do "
        'not call quantize. extractor.export("qa.tflite", '
        'quantization="dynamic") writes a file with weights of 8 bits.'
      )


def encode(backbone, inputs):
  """Returns the vectors of tokens, [batch, seq_length, hidden]."""
  outputs = backbone({name: inputs[name] for name in backbone.input})
  return outputs["sequence_output"] if isinstance(outputs, dict) else outputs


def pooler_of(backbone):
  """Returns the pooler of BERT and ELECTRA, which no logit needs, or None."""
  return getattr(backbone, "pooled_dense", None)


def check_sequence_length(backbone, max_seq_length):
  """Refuses windows that the encoder has no position embeddings for."""
  if max_seq_length > backbone.max_sequence_length:
    raise ValueError(
      f"max_seq_length must be at most {backbone.max_sequence_length}, the "
      f"positions of this encoder. Received: {max_seq_length}. Lower it."
    )


def check_precision(architecture, dtype):
  """Refuses to compute in float16 where that overflows."""
  overflow = architecture.float16_overflow
  if overflow and keras.dtype_policies.get(dtype).compute_dtype == "float16":
    raise ValueError(
      f"{architecture.name} does not compute in float16: {overflow}. Use "
      "bfloat16 or float32."
    )


def _attention_dropout(transformer_layer):
  (attention,) = (
    layer
    for layer in sublayers(transformer_layer)
    if layer.name == "self_attention_layer"
  )
  dropouts = sublayers(attention, keras.layers.Dropout)
  # DeBERTa has another one, on relative positions.
  named = (each for each in dropouts if each.name == "attention_dropout")
  return next(named, dropouts[0])
