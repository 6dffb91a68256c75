"""One update of the weights: loss, gradients, clipping, optimizer."""

from typing import Any, NamedTuple

import tensorflow as tf

_FIRST_SCALE = 2.0**15
_LOWEST_SCALE = 1.0
_SCALE_FACTOR = 2.0
# Updates in a row after which a larger factor is tried.
_GROWTH_STEPS = 2000


class _GradientSums(NamedTuple):
  """Sums over windows, which add up over micro-batches and replicas."""

  loss: Any  # float32 scalar, divided by train_batch_size
  metrics: dict  # name -> float32 scalar, divided by train_batch_size
  gradients: list  # dense tensors
  # Path of an embedding table -> half the squared norm of its gradient's rows,
  # with repeated ids not summed.
  unsummed: dict


class PendingUpdate(NamedTuple):
  """Loss and gradients of the whole batch, the same on every replica."""

  loss: Any  # float32 scalar
  metrics: dict  # name -> float32 scalar
  gradients: list  # dense tensors
  global_norm: Any  # float32 scalar, before clipping


class TrainStep:
  """Turns a batch into an update of the weights.

  loss = sum(loss of each window) / train_batch_size: a window weighs the same
  in a shorter batch, in a micro-batch and on any number of replicas.

  A step has two halves, `gradients` and `update`, so that the update can be
  skipped where a gradient is not finite. Both run in replica context. The
  replicas sum their gradients before the one global norm is taken.

  Example, on one device:
    step = tf.function(TrainStep(model, loss_fn, optimizer, 32, clip_norm=1.0))
    metrics = step(batch)

  Args:
    model: built keras.Model.
    loss_fn: function (model, batch) -> float32 [batch], a loss per window, or
      a pair of it and a dict of float32 [batch] whose means are further
      metrics; it calls the model with training=True.
    optimizer: keras optimizer, built, see `check_optimizer`.
    train_batch_size: windows of a full batch.
    clip_norm: largest global norm of all gradients together.
    unsummed_embeddings: paths of embedding tables whose gradient enters that
      norm as rows in which repeated ids are not summed, as in run_squad.
    jit_compile: whether XLA compiles loss and gradients.
    loss_scale: `LossScale`, or None.
    all_reduce: see `ExecutionOptions`.
  """

  def __init__(
    self,
    model,
    loss_fn,
    optimizer,
    train_batch_size,
    clip_norm,
    unsummed_embeddings=(),
    jit_compile=False,
    loss_scale=None,
    all_reduce="auto",
  ):
    self._model = model
    self._loss_fn = loss_fn
    self._optimizer = optimizer
    self._train_batch_size = train_batch_size
    self._clip_norm = clip_norm
    self._unsummed_embeddings = tuple(unsummed_embeddings)
    self._function = tf.function(
      self._micro_batch_sums, jit_compile=True if jit_compile else None
    )
    self._sums = self._function if jit_compile else self._micro_batch_sums
    self.loss_scale = loss_scale
    self._communication = None
    if all_reduce != "auto":
      options = tf.distribute.experimental
      self._communication = options.CommunicationOptions(
        implementation=options.CommunicationImplementation[all_reduce.upper()]
      )
    # The variables that the loss depends on, known once the step is traced.
    self._variables = None

  def __call__(self, batch):
    """Makes one update from a batch, a dict of [batch, ...], on one device.

    Returns:
      Dict of float32 scalars: loss, learning_rate (that of this update),
      global_norm (before clipping), and the metrics of loss_fn.
    """
    return self.update(self._pending(self._sums(batch, None)))

  def gradients(self, micro_batches, weights):
    """The `PendingUpdate` of the whole batch, from this replica's part of it.

    The part is that of `split_batch`: a dict of tensors [micro_batches, rows,
    ...], and weights, float32 [micro_batches, rows].
    """
    if weights.shape[0] == 1:
      batch = tf.nest.map_structure(lambda x: x[0], micro_batches)
      sums = self._sums(batch, weights[0])
    else:
      sums = self._accumulated(micro_batches, weights)
    context = tf.distribute.get_replica_context()
    if context.num_replicas_in_sync > 1:
      totals = context.all_reduce(
        tf.distribute.ReduceOp.SUM,
        tf.nest.flatten(sums),
        options=self._communication,
      )
      sums = tf.nest.pack_sequence_as(sums, totals)
    return self._pending(sums)

  def update(self, pending):
    """Clips and applies the gradients; returns the metrics of the step."""
    # clip_norm * min(1 / norm, 1 / clip_norm), as run_squad.
    clipped, _ = tf.clip_by_global_norm(
      pending.gradients, self._clip_norm, use_norm=pending.global_norm
    )
    learning_rate = tf.identity(self._optimizer.learning_rate)
    with tf.control_dependencies([learning_rate]):
      self._optimizer.apply(clipped, self._variables)
    return _metrics(pending, learning_rate)

  def skip(self, pending):
    """Returns the metrics of a step whose update is skipped."""
    return _metrics(pending, tf.identity(self._optimizer.learning_rate))

  def _accumulated(self, micro_batches, weights):
    """Sums over the micro-batches, which are computed one after another."""

    def inputs(index):
      batch = tf.nest.map_structure(lambda x: x[index], micro_batches)
      return batch, weights[index]

    # A function, so that it is traced once: for the structure of its result,
    # which the loop needs beforehand, and for the loop.
    structure = self._function.get_concrete_function(
      *inputs(0)
    ).structured_outputs
    zeros = [tf.zeros(x.shape, x.dtype) for x in tf.nest.flatten(structure)]

    def add(index, *totals):
      sums = tf.nest.flatten(self._function(*inputs(index)))
      return index + 1, *[a + b for a, b in zip(totals, sums, strict=True)]

    # Side by side, the micro-batches would need the memory of all of them.
    num_micro_batches = weights.shape[0]
    _, *totals = tf.while_loop(
      lambda index, *unused_totals: index < num_micro_batches,
      add,
      [tf.constant(0), *zeros],
      parallel_iterations=1,
      maximum_iterations=num_micro_batches,
    )
    return tf.nest.pack_sequence_as(structure, totals)

  def _micro_batch_sums(self, batch, weights):
    def mean(values):
      if weights is not None:  # Padding rows have weight 0.
        values = tf.math.multiply_no_nan(values, weights)
      return tf.reduce_sum(values) / self._train_batch_size

    with tf.GradientTape() as tape:
      losses = self._loss_fn(self._model, batch)
      losses, values = losses if isinstance(losses, tuple) else (losses, {})
      loss = mean(losses)
      target = loss
      if self.loss_scale is not None:
        target = loss * self.loss_scale.value
    gradients, self._variables = gradients_of(
      tape, target, self._model.trainable_variables
    )
    return _GradientSums(
      loss,
      {name: mean(value) for name, value in values.items()},
      [
        _dense(gradient, variable)
        for gradient, variable in zip(gradients, self._variables, strict=True)
      ],
      {
        variable.path: tf.nn.l2_loss(gradient.values)
        for gradient, variable in zip(gradients, self._variables, strict=True)
        if variable.path in self._unsummed_embeddings
      },
    )

  def _pending(self, sums):
    """Undoes the loss scale and takes the global norm."""
    gradients, unsummed = sums.gradients, sums.unsummed
    if self.loss_scale is not None:
      scale = self.loss_scale.value
      gradients = [gradient / scale for gradient in gradients]
      unsummed = {path: half / scale**2 for path, half in unsummed.items()}
    halves = [
      unsummed[variable.path]
      if variable.path in unsummed
      else tf.nn.l2_loss(gradient)
      for gradient, variable in zip(gradients, self._variables, strict=True)
    ]
    norm = tf.sqrt(tf.reduce_sum(tf.stack(halves)) * 2.0)
    return PendingUpdate(sums.loss, sums.metrics, gradients, norm)


def gradients_of(tape, loss, variables):
  """The gradients of the variables that the loss depends on, and these.

  The gradient of an embedding comes as rows with repeated ids. Its norm needs
  the rows of one id summed first. run_squad clips by the norm of the unsummed
  rows, which is some 1 % less.

  Variables without a gradient, such as the pooler's, are dropped: they are
  neither updated nor decayed.
  """
  gradients = tape.gradient(loss, [variable.value for variable in variables])
  pairs = [
    (gradient, variable)
    for gradient, variable in zip(gradients, variables, strict=True)
    if gradient is not None
  ]
  if not pairs:
    raise ValueError(
      "The loss depends on no trainable weight of the model. Check that "
      "loss_fn calls the model it is given and that the model is trainable "
      f"({len(variables)} trainable variables)."
    )
  return tuple(map(list, zip(*pairs, strict=True)))


def _dense(gradient, variable):
  dense = tf.convert_to_tensor(gradient)
  dense.set_shape(variable.shape)
  return dense


def _metrics(pending, learning_rate):
  return {
    "loss": pending.loss,
    "learning_rate": tf.cast(learning_rate, tf.float32),
    "global_norm": pending.global_norm,
    **pending.metrics,
  }


class LossScale:
  """Multiplies the loss, and is halved when a gradient overflows.

  float16 holds no number below 6e-8 and none above 65504. The loss is
  multiplied by the scale before gradients are taken, and the gradients are
  divided by it. After a step with an infinite gradient the update is skipped
  and the scale halved. After 2000 updates in a row it is doubled.

  Whether a step is skipped is decided on the gradients summed over all
  replicas, so all replicas decide the same. (Keras' LossScaleOptimizer looks
  at the first replica only.)

  Its two numbers are variables of the built optimizer, so that a checkpoint of
  the optimizer holds them.
  """

  def __init__(self, optimizer):
    self._scale = optimizer.add_variable(
      shape=(), initializer="ones", dtype="float32", name="loss_scale"
    )
    self._scale.assign(_FIRST_SCALE)
    self._good_steps = optimizer.add_variable(
      shape=(), initializer="zeros", dtype="float32", name="good_steps"
    )

  @property
  def value(self):
    """float32 scalar, the scale of this step."""
    return tf.identity(self._scale.value)

  @property
  def is_lowest(self):
    """Whether the scale cannot be halved; bool."""
    return self._scale.value <= _LOWEST_SCALE

  def adjust(self, is_finite):
    """Adapts the scale after a step, in cross-replica context."""
    scale, good_steps = self._scale.value, self._good_steps.value + 1.0
    grows = tf.logical_and(is_finite, good_steps >= _GROWTH_STEPS)
    halved = tf.maximum(scale / _SCALE_FACTOR, _LOWEST_SCALE)
    kept = tf.where(grows, scale * _SCALE_FACTOR, scale)
    new_scale = tf.where(is_finite, kept, halved)
    restarts = tf.logical_or(grows, tf.logical_not(is_finite))
    self._good_steps.assign(tf.where(restarts, 0.0, good_steps))
    self._scale.assign(new_scale)
