"""The layer on top of the encoder that tags every token B, I or O."""

import keras

from bert_span.data.bio_labels import NUM_TAGS


@keras.saving.register_keras_serializable(package="bert_span")
class BioHead(keras.layers.Layer):
  """Scores every position as B, I and O.

      p_i = softmax(W h_i + b)

  B is the first token of an answer's span, I another one of it, O any token
  outside: an answer may have any number of spans. W is [3, hidden], as the
  formula has it, so W h_i is written as h_i times W transposed.

  The layer computes in float32 under mixed precision too, since its logits
  are summed over whole passages when they are decoded.

  Args:
    **kwargs: passed to keras.layers.Layer.

  Call arguments:
    sequence_output: float [batch, seq_length, hidden].

  Returns:
    float32 [batch, seq_length, 3], the logits in the order of TAGS.
  """

  logit_names = ("tag_logits",)

  def __init__(self, name="tag_head", **kwargs):
    super().__init__(name=name, **{**kwargs, "dtype": "float32"})
    self.kernel = None
    self.bias = None

  def build(self, input_shape):
    self.kernel = self.add_weight(
      name="kernel",
      shape=(NUM_TAGS, input_shape[-1]),
      # As the span head's.
      initializer=keras.initializers.TruncatedNormal(stddev=0.02),
    )
    self.bias = self.add_weight(
      name="bias", shape=(NUM_TAGS,), initializer="zeros"
    )

  def call(self, sequence_output):
    kernel = keras.ops.transpose(self.kernel)  # [hidden, 3]
    return keras.ops.matmul(sequence_output, kernel) + self.bias

  def compute_output_shape(self, input_shape):
    return (*input_shape[:-1], NUM_TAGS)
