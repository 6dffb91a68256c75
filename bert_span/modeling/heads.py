"""The layers on top of the encoder: start and end scores, or B/I/O tags."""

import keras

from bert_span.modeling.initializer import bert_initializer
from bert_span.modeling.tags import NUM_TAGS

TRANSFORM_EPSILON = 1e-5  # of the LayerNorm in a head, as in transformers


class Float32Layer(keras.layers.Layer):
  """A layer that computes in float32, whatever Keras' global policy is."""

  def __init__(self, dtype="float32", **kwargs):
    super().__init__(dtype=float32_policy(dtype, type(self).__name__), **kwargs)


def float32_policy(dtype, owner):
  """Returns the dtype policy float32, also for None; ValueError for another."""
  policy = keras.dtype_policies.get(dtype or "float32")
  if policy.name != "float32":
    raise ValueError(
      f"{owner} must compute in float32. Leave dtype out, or give the encoder "
      f"the other precision. Received: dtype={policy.name!r}."
    )
  return policy


class Head(Float32Layer):
  """A head that saves its weights under their names, not under numbers."""

  def save_own_variables(self, store):
    for weight in self.weights:
      store[weight.name] = weight

  def load_own_variables(self, store):
    weights = {weight.name: weight for weight in self.weights}
    assign_weights(weights, store, self.name)


@keras.saving.register_keras_serializable(package="bert_span")
class SpanHead(Head):
  """Scores every position as the start and as the end of the answer.

  start_logits[i] = S . T_i and end_logits[i] = E . T_i for the encoder's
  vectors T_i. They are float32, because softmax sums over hundreds of
  positions.

  Args:
    use_bias: whether to add a bias, as the original code does and the paper
      does not. It does not change a softmax over positions.
    has_transform: whether T_i is LayerNorm(gelu(D t_i)) for the encoder's
      vectors t_i, without biases, as in transformers' class of ModernBERT.

  Call arguments:
    sequence_output: float [batch, seq_length, hidden].

  Returns:
    The pair (start_logits, end_logits), each float32 [batch, seq_length].

  Source: Devlin et al. 2019, section 4.2; google-research/bert, run_squad.py,
  create_model (cls/squad/output_weights, output_bias).
  """

  def __init__(
    self, use_bias=True, has_transform=False, name="span_head", **kwargs
  ):
    super().__init__(name=name, **kwargs)
    self.use_bias, self.has_transform = use_bias, has_transform
    self.kernel = self.bias = None

  def build(self, input_shape):
    if self.has_transform:
      hidden_dim = input_shape[-1]
      self.transform_kernel = self.add_weight(
        name="transform_kernel",
        shape=(hidden_dim, hidden_dim),
        initializer=bert_initializer(),
      )
      self.transform_gamma = self.add_weight(
        name="transform_gamma", shape=(hidden_dim,), initializer="ones"
      )
    self.kernel = self.add_weight(
      name="kernel",
      shape=(input_shape[-1], 2),
      # As run_squad: 0.02, whatever the encoder's initializer_range is.
      initializer=bert_initializer(),
    )
    if self.use_bias:
      self.bias = self.add_weight(name="bias", shape=(2,), initializer="zeros")

  def call(self, sequence_output):
    if self.has_transform:
      x = keras.ops.matmul(sequence_output, self.transform_kernel)
      x = keras.ops.gelu(x, approximate=False)
      sequence_output = keras.ops.layer_normalization(
        x, gamma=self.transform_gamma, epsilon=TRANSFORM_EPSILON
      )
    logits = keras.ops.matmul(sequence_output, self.kernel)
    if self.use_bias:
      logits += self.bias
    return logits[..., 0], logits[..., 1]  # each [batch, seq_length]

  def get_config(self):
    return super().get_config() | {
      "use_bias": self.use_bias,
      "has_transform": self.has_transform,
    }


@keras.saving.register_keras_serializable(package="bert_span")
class BioHead(Head):
  """Tags every position as B, I or O: p_i = softmax(W h_i + b).

  B is the first token of a span of the answer, I is another token of it, and O
  is a token outside. So an answer may have any number of spans. W is [3,
  hidden]. Logits are float32, because the decoder adds them up over whole
  passages.

  Call arguments:
    sequence_output: float [batch, seq_length, hidden].

  Returns:
    The logits in the order of TAGS, float32 [batch, seq_length, 3].
  """

  def __init__(self, name="tag_head", **kwargs):
    super().__init__(name=name, **kwargs)
    self.kernel = self.bias = None

  def build(self, input_shape):
    self.kernel = self.add_weight(
      name="kernel",
      shape=(NUM_TAGS, input_shape[-1]),
      initializer=bert_initializer(),
    )
    self.bias = self.add_weight(
      name="bias", shape=(NUM_TAGS,), initializer="zeros"
    )

  def call(self, sequence_output):
    kernel = keras.ops.transpose(self.kernel)  # [hidden, 3]
    return keras.ops.matmul(sequence_output, kernel) + self.bias


def watch_head(head):
  """Adds the attribute `is_trained` to a built head, unless it has one.

  It is False until the weights are assigned. Then it becomes
  `trained_once_assigned`, True by default. It is an attribute of the layer,
  because several models can share a head.
  """
  if hasattr(head, "is_trained"):
    return
  head.is_trained, head.trained_once_assigned = False, True

  def noting(assign):
    def assign_and_note(value):
      head.is_trained = head.trained_once_assigned
      return assign(value)

    return assign_and_note

  for weight in head.weights:
    weight.assign = noting(weight.assign)


def named_logits(names, logits):
  """Returns a head's output, a tensor or a tuple of tensors, as a dict."""
  logits = logits if isinstance(logits, tuple) else (logits,)
  return dict(zip(names, logits, strict=True))


def assign_head(head, tensors):
  """Fills a head with a dict of arrays by their names in files.

  Without an array for it the bias is 0.
  """
  weights = weights_by_name(head)
  if "bias" in tensors and "bias" not in weights:
    raise ValueError(
      "The trained head has a bias, but the model has none. Use "
      "span_head_bias=True."
    )
  if getattr(head, "use_bias", False):
    tensors = {"bias": keras.ops.zeros_like(head.bias), **tensors}
  assign_weights(weights, tensors, f"the trained {head.name}")


def weights_by_name(head):
  """Returns a dict of a head's weights by their names in files."""
  names = {}
  head.save_own_variables(names)
  if len(names) != len(head.weights):
    raise ValueError(
      f"The head {head.name} must have its weights itself: make them with "
      f"add_weight and not in sublayers. Received: {len(names)} of "
      f"{len(head.weights)} weights."
    )
  return dict(zip(names, head.weights, strict=True))


def assign_weights(variables, tensors, source):
  """Fills a dict of variables with the arrays of the same names.

  `source` says in messages where the arrays are from.
  """
  for name, variable in variables.items():
    shape = list(tensors[name].shape) if name in tensors else None
    if shape != list(variable.shape):
      raise ValueError(
        f"{name} of {source} has shape {shape}, but the model needs "
        f"{list(variable.shape)}. Use the encoder and vocabulary of the head."
      )
  for name, variable in variables.items():
    variable.assign(tensors[name])
