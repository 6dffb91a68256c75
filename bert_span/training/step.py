"""One update of the weights: loss, gradients, clipping, optimizer."""

import dataclasses
from collections.abc import Callable, Sequence

import keras
import tensorflow as tf

from bert_span.training.options import TrainOptions

_FIRST_SCALE = 2.0**15
# Successful updates in a row until the scale is raised.
_GROWTH_STEPS = 2000


class LossScale:
  """A factor of the loss, so that gradients fit into float16.

  It is halved, and the update skipped, if gradients summed over all replicas
  are not finite (Keras' LossScaleOptimizer looks at the first replica only). It
  is saved with the variables of the built optimizer.
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

  loss = sum(loss of each window) / train_batch_size. A window has the same
  weight in a shorter batch, in a micro-batch and on any number of replicas.
  Replicas sum their gradients before the global norm is computed.

  `loss_fn` is a function of (model, batch) that calls the model with
  training=True. It returns a loss per window, float32 [batch], or a pair of
  this and a dict of float32 [batch], whose means are further metrics.
  """

  model: keras.Model  # built
  variables: Sequence  # to train; some may have no gradient
  loss_fn: Callable
  optimizer: keras.optimizers.Optimizer  # built
  options: TrainOptions
  # Paths of embedding tables whose gradients enter the global norm without
  # summing the rows of repeated ids, as in run_squad. It is some 1 % less.
  unsummed_embeddings: Sequence = ()
  jit_compile: bool = False  # XLA compiles loss and gradients
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

    `micro_batches` and `weights` are the per-replica batch, see `split_batch`.
    Gradients are a dict by indices of `variables`. Metrics are float32 scalars:
    loss, learning_rate (of this update), global_norm (before clipping), and the
    metrics of loss_fn.
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
    # As a tf.function it is traced once for all micro-batches.
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

    # In parallel, the micro-batches would need the memory of all of them.
    _, totals = tf.while_loop(
      lambda index, unused_totals: index < num_micro_batches,
      add,
      [tf.constant(1), first],
      parallel_iterations=1,
      maximum_iterations=num_micro_batches - 1,
    )
    return totals

  def _micro_batch_sums(self, batch, weights):
    """Returns metrics, gradients, and halved squared norms of unsummed rows.

    The last two are dicts by indices of `variables`. Variables without a
    gradient, such as the pooler's, are neither updated nor decayed.
    """

    def mean(values):
      # Padding rows have weight 0.
      values = tf.math.multiply_no_nan(values, weights)
      return tf.reduce_sum(values) / self.options.train_batch_size

    with tf.GradientTape() as tape:
      losses = self.loss_fn(self.model, batch)
      losses, more = losses if isinstance(losses, tuple) else (losses, {})
      loss = target = mean(losses)
      if self.loss_scale is not None:
        target = loss * self.loss_scale.value
    variables = self.variables
    gradients = tape.gradient(target, [v.value for v in variables])
    gradients = {i: x for i, x in enumerate(gradients) if x is not None}
    if not gradients:
      raise ValueError(
        "loss_fn must depend on a trainable weight of its model. "
        f"Received: a model with {len(variables)} trainable variables."
      )
    metrics = {"loss": loss, **{name: mean(x) for name, x in more.items()}}
    # An embedding's gradient has rows; here the rows of one id are summed.
    dense = {
      i: tf.ensure_shape(x, variables[i].shape) for i, x in gradients.items()
    }
    unsummed = {
      i: tf.nn.l2_loss(x.values)
      for i, x in gradients.items()
      if variables[i].path in self.unsummed_embeddings
    }
    return metrics, dense, unsummed
