"""The encoder for inference: it computes as KerasHub's, with fewer, larger ops.

KerasHub multiplies by Einsum over three axes. Here the tokens of all windows
are the rows of one matrix, so that a CPU computes product, bias and GELU as one
op.
"""

import keras
import tensorflow as tf

from bert_span.modeling.architectures import architecture_of
from bert_span.modeling.encoder import (
  check_not_quantized,
  layer_calls,
  pooler_of,
)
from bert_span.modeling.heads import named_logits
from bert_span.modeling.keras_internals import lora_products, sublayers
from bert_span.modeling.relative_scores import DISTANCE_TABLE, RelativeScores


class InferenceEncoder(tf.Module):
  """Computes the sequence_output of a backbone that is not being trained.

  It is called like the backbone and reads its variables. It computes in the
  precision that the backbone had when this object was made; LayerNorm and
  softmax are always float32. The vectors of a window that is all padding have
  no meaning.
  """

  def __init__(self, backbone):
    super().__init__(name="inference_encoder")
    check_not_quantized(backbone)
    make_encode = architecture_of(backbone).inference
    self._encode = make_encode and make_encode(backbone)
    # The path of the layer that has the embedding tables, or "".
    embeddings = backbone.token_embedding.path.removesuffix("token_embedding")
    # Raw variables only: a tf.Module with Keras objects would be exported
    # without their values.
    pooler = pooler_of(backbone)
    unused = {weight.path for weight in pooler.weights} if pooler else {}
    self._weights = {
      weight.path.removeprefix(embeddings): weight.value
      for weight in backbone.weights
      if weight.path not in unused
    }
    # LoRA adds scale * A B to a weight: (scale, A, B) by the weight's name.
    self._adapters = {
      weight.path.removeprefix(embeddings): (scale, a.value, b.value)
      for weight, scale, a, b in lora_products(backbone)
    }
    has_distances = DISTANCE_TABLE in self._weights
    self._relative_scores = RelativeScores(backbone) if has_distances else None
    self._dtype = backbone.compute_dtype
    layers = layer_calls(backbone)
    self._layers = [layer.name for layer in layers]
    self._epsilons = {
      layer.path.removeprefix(embeddings): layer.epsilon
      for layer in sublayers(backbone, keras.layers.LayerNormalization)
    }
    self._activation = layers[0].activation
    projection = getattr(backbone, "embeddings_projection", None)
    self._projection = projection and projection.name

  def __call__(self, inputs):
    if self._encode:
      return self._encode(self, inputs)
    batch, seq_length = tf.unstack(tf.shape(inputs["token_ids"]))
    hidden = self.rows("token_embedding", inputs["token_ids"])
    if "position_embedding/embeddings" in self._weights:
      hidden += self.weight("position_embedding/embeddings")[:seq_length]
    if "segment_embedding/embeddings" in self._weights:
      hidden += self.rows("segment_embedding", inputs["segment_ids"])
    hidden = tf.reshape(hidden, [-1, hidden.shape[-1]])  # [tokens, width]
    hidden = self.layer_norm("embeddings_layer_norm", hidden)
    if self._projection:
      hidden = self.dense(self._projection, hidden)
    is_padding = tf.cast(inputs["padding_mask"], tf.int32) == 0
    # KerasHub's score of padding, added to those of all heads and queries:
    # [batch, 1, 1, seq_length].
    mask = tf.where(is_padding, -1e9, 0.0)[:, tf.newaxis, tf.newaxis]
    scores_of = None
    if self._relative_scores:
      scores_of = self._relative_scores(self, seq_length)
    for layer in self._layers:
      name = f"{layer}/self_attention_layer"
      hidden += self.attention(name, hidden, mask, scores_of=scores_of)
      hidden = self.layer_norm(f"{layer}/self_attention_layer_norm", hidden)
      inner = self.dense(f"{layer}/feedforward_intermediate_dense", hidden)
      inner = self._activation(inner)
      hidden += self.dense(f"{layer}/feedforward_output_dense", inner)
      hidden = self.layer_norm(f"{layer}/feedforward_layer_norm", hidden)
    return tf.reshape(hidden, [batch, seq_length, hidden.shape[-1]])

  def attention(self, name, hidden, mask, values=None, scores_of=None):
    """Computes self-attention within each window: float [tokens, hidden].

    Args:
      name: name of the attention layer.
      hidden: float [tokens, hidden].
      mask: float32 [batch, 1, 1, seq_length], added to the scores.
      values: float [tokens, width], from which values are computed; None is
        hidden.
      scores_of: None, or a function that computes further scores, see
        `RelativeScores`.
    """
    batch, seq_length = tf.shape(mask)[0], tf.shape(mask)[-1]
    num_heads, head_size = self._weights[f"{name}/query/bias"].shape
    shape = [batch, seq_length, num_heads, head_size]
    values = hidden if values is None else values
    inputs = {"query": hidden, "key": hidden, "value": values}
    outputs = (self.dense(f"{name}/{x}", rows) for x, rows in inputs.items())
    # each [batch, heads, seq_length, head_size]
    query, key, value = (
      self.with_heads_swapped(tf.reshape(rows, shape)) for rows in outputs
    )
    # Scaled before the product, which may overflow in float16 otherwise.
    scale = ((3 if scores_of else 1) * head_size) ** -0.5
    scores = tf.matmul(query * scale, key, transpose_b=True)
    if scores_of:
      scores += scores_of(name, query * scale, key * scale)
    weights = tf.nn.softmax(tf.cast(scores, tf.float32) + mask)
    heads = tf.matmul(tf.cast(weights, self._dtype), value)
    heads = self.with_heads_swapped(heads)
    rows = tf.reshape(heads, [-1, num_heads * head_size])  # [tokens, hidden]
    return self.dense(f"{name}/attention_output", rows)

  def with_heads_swapped(self, table):
    """Swaps the axes of seq_length and heads, 1 and 2.

    It moves integers: for floats, oneDNN prepares the operation anew for each
    table.
    """
    integers = tf.bitcast(table, {2: tf.int16, 4: tf.int32}[table.dtype.size])
    return tf.bitcast(tf.transpose(integers, [0, 2, 1, 3]), table.dtype)

  def dense(self, name, inputs):
    """Computes a Dense or EinsumDense layer: [tokens, in] to [tokens, out].

    Heads and head_size are one axis.
    """
    kernel = tf.reshape(self.weight(f"{name}/kernel"), [inputs.shape[-1], -1])
    outputs = tf.matmul(inputs, kernel)
    if f"{name}/bias" not in self._weights:
      return outputs
    return tf.nn.bias_add(
      outputs, tf.reshape(self.weight(f"{name}/bias"), [-1])
    )

  def layer_norm(self, name, inputs):
    inputs, epsilon = tf.cast(inputs, tf.float32), self._epsilons[name]
    if epsilon is not None:  # None: see `NoNorm`.
      inputs -= tf.reduce_mean(inputs, -1, keepdims=True)
      variance = tf.reduce_mean(tf.square(inputs), -1, keepdims=True)
      inputs *= tf.math.rsqrt(variance + epsilon)
    outputs = inputs * tf.cast(self._weights[f"{name}/gamma"], tf.float32)
    if f"{name}/beta" in self._weights:
      outputs += tf.cast(self._weights[f"{name}/beta"], tf.float32)
    return tf.cast(outputs, self._dtype)

  def rows(self, name, ids):
    name = f"{name}/embeddings"
    rows = tf.gather(self._weights[name], ids)
    if name in self._adapters:
      scale, a, b = self._adapters[name]
      rows += scale * tf.matmul(tf.gather(a, ids), b)
    return tf.cast(rows, self._dtype)

  def weight(self, name):
    weight = self._weights[name]
    if name in self._adapters:
      scale, a, b = self._adapters[name]
      weight = weight + scale * tf.matmul(a, b)
    return tf.cast(weight, self._dtype)


class InferenceModel(tf.Module):
  """The logits of an `Extractor` that is not being trained.

  `encoder` is an `InferenceEncoder`; None makes one of the extractor's.
  """

  def __init__(self, extractor, encoder=None):
    super().__init__(name="inference_model")
    self._encoder = encoder or InferenceEncoder(extractor.backbone)
    self._head_variables = [weight.value for weight in extractor.head.weights]
    head, names = extractor.head, tuple(extractor.logits)
    # A function, so that the layer itself is not tracked.
    self._named_logits = lambda hidden: named_logits(names, head(hidden))

  def __call__(self, inputs):
    return self._named_logits(self._encoder(inputs))
