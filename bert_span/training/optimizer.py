"""The optimizer of BERT: Adam with decoupled weight decay, as published."""

import functools
import re

import keras
import tensorflow as tf

from bert_span.training.strategy import scope_of

# As run_squad: search the whole path, so that `gamma` and `beta` match by their
# layer's name, ..._layer_norm in KerasHub.
_NOT_DECAYED = re.compile("LayerNorm|layer_norm|bias")
# Layers of KerasHub, and those of ALBERT, in groups.
_LAYER_INDEX = re.compile(r"(?:group_(\d+)_inner)?_layer_(\d+)/")


def is_decayed(path):
  """Returns whether weight decay applies to the variable of this path."""
  return _NOT_DECAYED.search(path) is None


def layer_rates(paths, layer_decay):
  """Returns the factors of the learning rate for variables, by their paths.

  Heads have 1, the last of n layers layer_decay, the layer below layer_decay^2,
  and so on; embeddings have layer_decay^(n + 1). ALBERT's layers that share
  their weights are one layer.

  Source: Clark et al. 2020 (ELECTRA), appendix B.
  """
  matches = [_LAYER_INDEX.search(path) for path in paths]
  # Of each path: its group, if any, and its layer in it.
  places = [m and (int(m[1] or 0), int(m[2])) for m in matches]
  group_size = 1 + max((place[1] for place in places if place), default=-1)
  layers = [p and p[0] * group_size + p[1] for p in places]
  num_layers = 1 + max((i for i in layers if i is not None), default=-1)

  def layers_from_the_top(path, layer):
    if layer is not None:
      return num_layers - layer
    return num_layers + 1 if "embedding" in path else 0

  return [
    layer_decay ** layers_from_the_top(path, layer)
    for path, layer in zip(paths, layers, strict=True)
  ]


@keras.saving.register_keras_serializable(package="bert_span")
class BertAdamW(keras.optimizers.AdamW):
  """Adam with decoupled weight decay, without bias correction by default.

  With gradient g, rate r and decay d (0 for LayerNorm and bias):

      m = beta_1 * m + (1 - beta_1) * g
      v = beta_2 * v + (1 - beta_2) * g^2
      x = x - r * (m / (sqrt(v) + epsilon) + d * x)

  keras.optimizers.AdamW divides m and v by 1 - beta^t, as this class does with
  `bias_correction=True`, and decays LayerNorm and bias variables, too. The
  training loop clips the global norm of the gradients.

  Args:
    learning_rate: float or keras LearningRateSchedule, per update.
    weight_decay: share of a weight that is subtracted at rate 1, in [0, 1);
      None is 0.
    beta_1, beta_2: decay of the means of the gradients and of their squares,
      per update, in [0, 1).
    epsilon: added to the root of v; positive.
    bias_correction: whether to correct the bias of m and v.
    layer_decay: factor of the learning rate from a layer to the one below it,
      in (0, 1].
    **kwargs: arguments of keras.optimizers.AdamW, but not amsgrad=True.

  Raises:
    ValueError: an argument is out of its range, or amsgrad is True.

  Source: google-research/bert, optimization.py, AdamWeightDecayOptimizer.
  """

  # True if `apply` sums gradients over replicas, which keras.Model.fit needs.
  sums_gradients = True

  def __init__(
    self,
    learning_rate,
    weight_decay=0.01,
    beta_1=0.9,
    beta_2=0.999,
    epsilon=1e-6,
    bias_correction=False,
    layer_decay=1.0,
    **kwargs,
  ):
    weight_decay = weight_decay or 0.0
    if kwargs.get("amsgrad"):
      raise ValueError(
        "amsgrad=True is not supported by BertAdamW. Leave it out, or take "
        "keras.optimizers.AdamW."
      )
    for name, value, is_inside, allowed in (
      ("weight_decay", weight_decay, 0.0 <= weight_decay < 1.0, "[0, 1)"),
      ("beta_1", beta_1, 0.0 <= beta_1 < 1.0, "[0, 1)"),
      ("beta_2", beta_2, 0.0 <= beta_2 < 1.0, "[0, 1)"),
      ("epsilon", epsilon, epsilon > 0.0, "(0, infinity)"),
      ("layer_decay", layer_decay, 0.0 < layer_decay <= 1.0, "(0, 1]"),
    ):
      if not is_inside:
        received = f"Received: {name}={value}"
        raise ValueError(f"{name} must be in {allowed}. {received}")
    super().__init__(
      learning_rate, weight_decay, beta_1, beta_2, epsilon, **kwargs
    )
    self.bias_correction = bias_correction
    self.layer_decay = layer_decay

  def build(self, variables):
    """Creates m and v, in the order and with the names of Keras' Adam."""
    if self.built:
      return
    # Keras would decay all layers at one rate: `update_step` decays instead.
    self.exclude_from_weight_decay(var_list=variables)
    # In Adam's build, m and v have private names.
    keras.optimizers.Optimizer.build(self, variables)
    self.momentums, self.velocities = self.add_optimizer_variables(
      variables, ["momentum", "velocity"]
    )
    paths = [variable.path for variable in variables]
    self.are_decayed = list(map(is_decayed, paths))
    self.layer_rates = layer_rates(paths, self.layer_decay)

  def update_step(self, gradient, variable, learning_rate):
    index = self._get_variable_index(variable)  # As Keras documents it.
    cast = functools.partial(tf.cast, dtype=variable.dtype)
    learning_rate = cast(learning_rate)
    if self.layer_decay != 1.0:
      learning_rate *= self.layer_rates[index]
    if self.weight_decay and self.are_decayed[index]:
      decay = cast(self.weight_decay)
      variable.assign_sub(variable * decay * learning_rate)
    # One fused kernel has a fourth of the memory traffic of Keras' ops. With
    # beta powers of 0 it corrects no bias.
    beta_1, beta_2 = cast(self.beta_1), cast(self.beta_2)
    step, zero = cast(self.iterations), cast(0.0)
    tf.raw_ops.ResourceApplyAdam(
      var=variable.handle,
      m=self.momentums[index].value.handle,
      v=self.velocities[index].value.handle,
      beta1_power=beta_1 ** (step + 1) if self.bias_correction else zero,
      beta2_power=beta_2 ** (step + 1) if self.bias_correction else zero,
      lr=learning_rate,
      beta1=beta_1,
      beta2=beta_2,
      epsilon=cast(self.epsilon),
      grad=cast(gradient),
    )

  def _all_reduce_sum_gradients(self, grads_and_vars):
    if self.sums_gradients:
      return super()._all_reduce_sum_gradients(grads_and_vars)
    return grads_and_vars

  def get_config(self):
    return {
      **super().get_config(),
      "bias_correction": self.bias_correction,
      "layer_decay": self.layer_decay,
    }


def make_optimizer(options, schedule, strategy=None, **arguments):
  """Returns a `BertAdamW` of `TrainOptions` in the strategy's scope."""
  with scope_of(strategy):
    return BertAdamW(
      schedule,
      weight_decay=options.weight_decay,
      bias_correction=options.adam_bias_correction,
      **arguments,
    )


def optimizer_options(optimizer):
  """Returns the arguments of an optimizer, as a dict of JSON values."""
  options = optimizer.get_config()
  del options["name"]  # It only counts the optimizers of a process.
  # The training loop keeps no moving averages of the weights.
  del options["use_ema"], options["ema_momentum"]
  rate = options["learning_rate"]
  if isinstance(rate, dict):  # A schedule as Keras serializes it.
    options["learning_rate"] = rate["config"]
  return {"class": type(optimizer).__name__, **options}
