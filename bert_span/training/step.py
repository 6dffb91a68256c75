"""One update of the weights: loss, gradients, clipping, optimizer."""

import dataclasses
from collections.abc import Callable, Sequence

import keras
import tensorflow as tf

from bert_span.training.options import TrainOptions

_FIRST_SCALE = 2.0**15
# Updates in a row after which a larger scale is tried.
_GROWTH_STEPS = 2000


class LossScale:
  """Multiplies the loss, so that float16 holds the gradients.

  It is halved, and the update skipped, when gradients summed over all replicas
  are not finite (Keras' LossScaleOptimizer looks at the first replica only).
  Checkpoints hold it with the variables of the built optimizer.
  """

  def __init__(self, optimizer):
    self._scale, self._good_steps = (
      optimizer.add_variable((), "zeros", "float32", name=name)
      for name in ("loss_scale", "good_steps")
    )
    self._scale.assign(_FIRST_SCALE)

  @property
  def value(self):
    return tf.identity(self._scale.value)

  @property
  def is_lowest(self):
    return self._scale.value <= 1.0

  def adjust(self, is_finite):
    """Adapts the scale after a step, in cross-replica context."""
    scale, good_steps = self._scale.value, self._good_steps.value + 1.0
    grows = is_finite & (good_steps >= _GROWTH_STEPS)
    raised = tf.where(grows, scale * 2.0, scale)
    new_scale = tf.where(is_finite, raised, tf.maximum(scale / 2.0, 1.0))
    self._good_steps.assign(tf.where(is_finite & ~grows, good_steps, 0.0))
    self._scale.assign(new_scale)


@dataclasses.dataclass(eq=False)
class TrainStep:
  """Turns a batch into an update of the weights.

  loss = sum(loss of each window) / train_batch_size: a window weighs the same
  in a shorter batch, in a micro-batch and on any number of replicas, which sum
  their gradients before the global norm is taken.

  `loss_fn` is a function (model, batch) -> float32 [batch], a loss per window,
  or a pair of it and a dict of float32 [batch] whose means are further metrics.
  It calls the model with training=True.
  """

  model: keras.Model  # built
  variables: Sequence  # of the model, to train; some may have no gradient
  loss_fn: Callable
  optimizer: keras.optimizers.Optimizer  # built
  options: TrainOptions
  # Paths of embedding tables whose gradient enters the global norm as rows in
  # which repeated ids are not summed, as in run_squad. It is some 1 % less.
  unsummed_embeddings: Sequence = ()
  jit_compile: bool = False  # whether XLA compiles loss and gradients
  loss_scale: LossScale | None = None

  def __post_init__(self):
    self.optimizer.sums_gradients = False  # `gradients` does, see BertAdamW.
    self._function = tf.function(
      self._micro_batch_sums,
      jit_compile=self.jit_compile or None,
      autograph=False,
    )

  def update_from(self, micro_batches, weights):
    """Makes one update on every replica; returns its metrics."""
    gradients, metrics = self.gradients(micro_batches, weights)
    self.update(gradients, metrics["global_norm"])
    return metrics

  def gradients(self, micro_batches, weights):
    """Returns the gradients of the whole batch, and its metrics.

    `micro_batches` and `weights` are this replica's part of the batch, see
    `split_batch`. Gradients are a dict by indices of `variables`. Metrics are
    float32 scalars: loss, learning_rate (that of this update), global_norm
    (before clipping), and those of loss_fn.
    """
    sums = self._sums(micro_batches, weights)
    context = tf.distribute.get_replica_context()
    if context.num_replicas_in_sync > 1:
      collective = tf.distribute.experimental
      all_reduce = self.options.execution.all_reduce.upper()
      options = collective.CommunicationOptions(
        implementation=collective.CommunicationImplementation[all_reduce]
      )
      sums = context.all_reduce(tf.distribute.ReduceOp.SUM, sums, options)
    metrics, gradients, unsummed = sums
    if self.loss_scale is not None:
      scale = self.loss_scale.value
      gradients = {index: x / scale for index, x in gradients.items()}
      unsummed = {index: half / scale**2 for index, half in unsummed.items()}
    halves = [
      unsummed[index] if index in unsummed else tf.nn.l2_loss(gradient)
      for index, gradient in gradients.items()
    ]
    return gradients, {
      **metrics,
      "learning_rate": tf.cast(self.optimizer.learning_rate, tf.float32),
      "global_norm": tf.sqrt(tf.reduce_sum(tf.stack(halves)) * 2.0),
    }

  def update(self, gradients, global_norm):
    """Clips gradients, a dict by index, and applies them."""
    # clip_norm * min(1 / norm, 1 / clip_norm), as run_squad.
    clipped, _ = tf.clip_by_global_norm(
      [*gradients.values()], self.options.clip_norm, use_norm=global_norm
    )
    self.optimizer.apply(clipped, [self.variables[i] for i in gradients])

  def _sums(self, micro_batches, weights):
    """Adds up `_micro_batch_sums` over the micro-batches."""
    num_micro_batches = weights.shape[0]
    is_one = num_micro_batches == 1
    # A function, so that it is traced once for all micro-batches.
    plain = is_one and not self.jit_compile
    function = self._micro_batch_sums if plain else self._function

    def sums_of(index):
      batch = {name: x[index] for name, x in micro_batches.items()}
      return function(batch, weights[index])

    first = sums_of(0)
    if is_one:
      return first

    def add(index, totals):
      sums = sums_of(index)
      return index + 1, tf.nest.map_structure(tf.add, totals, sums)

    # Side by side, the micro-batches would need the memory of all of them.
    _, totals = tf.while_loop(
      lambda index, unused_totals: index < num_micro_batches,
      add,
      [tf.constant(1), first],
      parallel_iterations=1,
      maximum_iterations=num_micro_batches - 1,
    )
    return totals

  def _micro_batch_sums(self, batch, weights):
    """Returns metrics, gradients, and half the squared norms of unsummed rows.

    The last two are dicts by indices of `variables`. Variables without a
    gradient, such as the pooler's, are neither updated nor decayed.
    """

    def mean(values):
      # Padding rows have weight 0.
      values = tf.math.multiply_no_nan(values, weights)
      return tf.reduce_sum(values) / self.options.train_batch_size

    with tf.GradientTape() as tape:
      losses = self.loss_fn(self.model, batch)
      losses, others = losses if isinstance(losses, tuple) else (losses, {})
      loss = target = mean(losses)
      if self.loss_scale is not None:
        target = loss * self.loss_scale.value
    variables = self.variables
    gradients = tape.gradient(target, [v.value for v in variables])
    gradients = {i: x for i, x in enumerate(gradients) if x is not None}
    if not gradients:
      raise ValueError(
        "loss_fn must depend on a trainable weight of the model it is given. "
        f"Received: a model with {len(variables)} trainable variables."
      )
    metrics = {"loss": loss, **{name: mean(x) for name, x in others.items()}}
    # An embedding's gradient comes as rows; those of one id are summed here.
    dense = {
      i: tf.ensure_shape(x, variables[i].shape) for i, x in gradients.items()
    }
    unsummed = {
      i: tf.nn.l2_loss(x.values)
      for i, x in gradients.items()
      if variables[i].path in self.unsummed_embeddings
    }
    return metrics, dense, unsummed
