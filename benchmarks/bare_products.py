"""Only the matrix products of a model: a lower bound for any encoder.

Each product uses the model's weights and waits for the one before it. There is
no bias, softmax, GELU, normalization or transposition between them.
"""

import functools

import tensorflow as tf


class BareProducts:
  """Runs the products of a BertBackbone on inputs of shape (rows, length)."""

  def __init__(self, backbone):
    self._heads = backbone.num_heads
    self._hidden = backbone.hidden_dim
    self._layers = [
      [_matrix(weight, self._hidden) for weight in _kernels(layer)]
      for layer in backbone.transformer_layers
    ]
    vectors = tf.TensorSpec([None, self._hidden], tf.float32)
    tables = tf.TensorSpec([None, self._heads, None, None], tf.float32)
    self._run = tf.function(
      self._products, input_signature=[vectors, tables], autograph=False
    )

  def __call__(self, rows, length):
    return self._run(*self._inputs(rows, length)).numpy()

  @functools.cache  # noqa: B019 -- lives as long as the benchmark
  def _inputs(self, rows, length):
    size = self._hidden // self._heads
    return (
      tf.random.stateless_normal([rows * length, self._hidden], [0, 0]),
      tf.random.stateless_normal([rows, self._heads, length, size], [0, 1]),
    )

  def _products(self, vectors, heads):
    """Returns a sum over all results, so that none is optimized away."""
    results = []
    for query, key, value, output, inner, outer in self._layers:
      parts = [tf.matmul(vectors, kernel) for kernel in (query, key, value)]
      with tf.control_dependencies(parts):
        scores = tf.matmul(heads, heads, transpose_b=True)
      context = tf.matmul(scores, heads)
      results += [part[0, 0] for part in parts] + [context[0, 0, 0, 0]]
      with tf.control_dependencies([context]):
        vectors = tf.matmul(parts[0], output)
      vectors = tf.matmul(tf.matmul(vectors, inner), outer)
    return tf.add_n([*results, vectors[0, 0]])


def _kernels(layer):
  kernels = {
    weight.path.split("/", 1)[1]: weight
    for weight in layer.weights
    if weight.path.endswith("/kernel")
  }
  return [
    kernels[f"{name}/kernel"]
    for name in (
      *(f"self_attention_layer/{part}" for part in ("query", "key", "value")),
      "self_attention_layer/attention_output",
      "feedforward_intermediate_dense",
      "feedforward_output_dense",
    )
  ]


def _matrix(kernel, hidden):
  """Returns a kernel with heads and head_size merged into one axis."""
  from_hidden = kernel.shape[0] == hidden
  shape = [hidden, -1] if from_hidden else [-1, hidden]
  return tf.Variable(tf.reshape(kernel, shape))
