"""Builds encoders of the BERT family from their configs, and back."""

import keras

from bert_span.modeling.architectures import ARCHITECTURES, architecture_of
from bert_span.modeling.encoder_config import ACTIVATIONS
from bert_span.modeling.encoder_config import EncoderConfig as EncoderConfig
from bert_span.modeling.keras_internals import lora_products, sublayers


def build_encoder(config, dtype=None):
  """Builds the backbone of an `EncoderConfig` with random weights.

  Settings that are not arguments of KerasHub's classes are set afterwards.

  Args:
    config: an `EncoderConfig` of the class for its architecture.
    dtype: None, or the dtype or policy of all layers.

  Returns:
    A keras_hub.models.Backbone.

  Raises:
    ValueError: the config is of another class, or the architecture does not
      compute in the dtype.

  Source: google-research/bert, modeling.py, BertModel.
  """
  architecture = ARCHITECTURES.get(config.architecture)
  if not architecture or not isinstance(config, architecture.config):
    configs = (f"{n}: {x.config.__name__}" for n, x in ARCHITECTURES.items())
    raise ValueError(
      "config must be of the class of its architecture, one of "
      f"{', '.join(configs)}. Received: {config.architecture!r} in a "
      f"{type(config).__name__}."
    )
  check_precision(architecture, dtype)
  sizes = {
    argument: getattr(config, name)
    for name, argument in architecture.arguments.items()
  }
  if "embedding_dim" in sizes:
    sizes["embedding_dim"] = config.embedding_dim or config.hidden_dim
  # A layer that is built with rate 0 always skips dropout. So all layers are
  # built with the higher rate, and get their own rate afterwards.
  dropout = max(config.dropout, config.attention_dropout)
  backbone = architecture.backbone(**sizes, dropout=dropout, dtype=dtype)
  for layer in sublayers(backbone, keras.layers.Dropout):
    if "embedding_dropout" not in sizes or layer.name != "embeddings_dropout":
      layer.rate = config.dropout
  backbone.dropout = config.dropout  # for the config.json of a preset
  if "layer_norm_epsilon" not in sizes:
    for layer in sublayers(backbone, keras.layers.LayerNormalization):
      layer.epsilon = config.layer_norm_epsilon
  activation = ACTIVATIONS[config.activation]
  for layer in {*layer_calls(backbone)}:
    _attention_dropout_layer(layer).rate = config.attention_dropout
    layer.activation = activation
    for dense in sublayers(layer, keras.layers.Dense):
      if dense.name == "feedforward_intermediate_dense":
        dense.activation = activation
  # KerasHub draws from a truncated normal with deviation 0.02, which is cut at
  # two deviations. So s times a draw is a draw with deviation 0.02 s.
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
  for name, argument in architecture.arguments.items():
    settings[name] = getattr(backbone, argument)
  layer, *_ = layer_calls(backbone)
  names = {function: name for name, function in ACTIVATIONS.items()}
  settings |= {
    "dropout": backbone.dropout,
    "attention_dropout": _attention_dropout_layer(layer).rate,
    "activation": names.get(layer.activation, architecture.activation),
    "architecture": architecture.name,
  }
  return architecture.config(**settings)


def layer_calls(backbone):
  """The transformer layers of a backbone in the order of their calls.

  The layers of an ALBERT are lists, its groups, and called several times.
  """
  layers = backbone.transformer_layers
  if not isinstance(layers[0], list):
    return [*layers]
  repeats = backbone.num_layers // len(layers)
  return [layer for group in layers for layer in repeats * [*group]]


def merged_weights(model):
  """Iterates over the weights of a model and their values, with LoRA merged in.

  The pairs are those of a model without LoRA: LoRA's own weights are left out.
  Values are copied one by one: together they take the memory of a model.
  """
  check_not_quantized(model)
  values, adapters = {}, set()
  for weight, scale, a, b in lora_products(model):
    adapters |= {id(a), id(b)}
    values[id(weight)] = weight + scale * keras.ops.matmul(a, b)
  return (
    (weight, keras.ops.convert_to_numpy(values.get(id(weight), weight)))
    for weight in model.weights
    if id(weight) not in adapters
  )


def check_not_quantized(model):
  """Raises ValueError for layers of 8 bits or fewer, as quantize makes them."""
  for layer in sublayers(model):
    if layer.quantization_mode:
      raise ValueError(
        f"The layer {layer.path} is quantized ({layer.quantization_mode}). "
        "Such a model is not saved and does not answer: load it again, and do "
        'not call quantize. extractor.export("qa.tflite", '
        'quantization="dynamic") writes a file with weights of 8 bits.'
      )


def encode(backbone, inputs):
  """Returns the encoder's vectors, float [batch, seq_length, hidden]."""
  outputs = backbone({name: inputs[name] for name in backbone.input})
  return outputs["sequence_output"] if isinstance(outputs, dict) else outputs


def pooler_of(backbone):
  """Returns the pooler of a BERT, which no logit needs, or None."""
  return getattr(backbone, "pooled_dense", None)


def check_sequence_length(backbone, max_seq_length):
  """Raises ValueError for windows longer than the encoder's positions."""
  if max_seq_length > backbone.max_sequence_length:
    raise ValueError(
      f"max_seq_length must be at most {backbone.max_sequence_length}, the "
      f"positions of this encoder. Received: {max_seq_length}. Lower it."
    )


def check_precision(architecture, dtype):
  """Raises ValueError for float16 in an architecture that overflows there."""
  overflow = architecture.float16_overflow
  if overflow and keras.dtype_policies.get(dtype).compute_dtype == "float16":
    raise ValueError(
      f"{architecture.name} does not compute in float16: {overflow}. Use "
      "bfloat16 or float32."
    )


def _attention_dropout_layer(transformer_layer):
  (attention,) = (
    layer
    for layer in sublayers(transformer_layer)
    if layer.name == "self_attention_layer"
  )
  dropouts = sublayers(attention, keras.layers.Dropout)
  # DeBERTa has another dropout layer, on relative positions.
  named = (layer for layer in dropouts if layer.name == "attention_dropout")
  return next(named, dropouts[0])
