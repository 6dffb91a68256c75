"""The layer on top of the encoder that scores starts and ends of answers."""

import keras


@keras.saving.register_keras_serializable(package="bert_span")
class SpanHead(keras.layers.Layer):
  """Scores every position as the start and as the end of the answer.

  start_logits[i] = S . T_i and end_logits[i] = E . T_i with the encoder's
  vectors T_i, written as one dense layer to 2. The paper has no bias, the
  code has one; a softmax over positions is the same with and without.

  The layer computes in float32 under mixed precision too, since it feeds a
  softmax over hundreds of positions.

  Args:
    use_bias: whether a bias is added, as in the original's code.
    **kwargs: passed to keras.layers.Layer.

  Call arguments:
    sequence_output: float [batch, seq_length, hidden].

  Returns:
    The pair start_logits, end_logits: float32 [batch, seq_length] each.

  Source: Devlin et al. 2019, section 4.2; google-research/bert,
  run_squad.py, create_model (cls/squad/output_weights, output_bias).
  """

  # The outputs, in the order of everything that passes them on.
  logit_names = ("start_logits", "end_logits")

  def __init__(self, use_bias=True, name="span_head", **kwargs):
    super().__init__(name=name, **{**kwargs, "dtype": "float32"})
    self.use_bias = use_bias
    self.kernel = None
    self.bias = None

  def build(self, input_shape):
    self.kernel = self.add_weight(
      name="kernel",
      shape=(input_shape[-1], 2),
      # 0.02 whatever the encoder's initializer_range is, as run_squad.
      initializer=keras.initializers.TruncatedNormal(stddev=0.02),
    )
    if self.use_bias:
      self.bias = self.add_weight(name="bias", shape=(2,), initializer="zeros")

  def call(self, sequence_output):
    logits = keras.ops.matmul(sequence_output, self.kernel)
    if self.use_bias:
      logits = logits + self.bias
    return logits[..., 0], logits[..., 1]  # each [batch, seq_length]

  def compute_output_shape(self, input_shape):
    return tuple(input_shape[:-1]), tuple(input_shape[:-1])

  def get_config(self):
    return {**super().get_config(), "use_bias": self.use_bias}
