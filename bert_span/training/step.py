"""One update of the weights: loss, gradients, clipping, optimizer."""

from typing import Any, NamedTuple

import tensorflow as tf

from bert_span.training.gradient_sums import ShareGradients


class PendingUpdate(NamedTuple):
  """What an update is made of, the same on every device.

  Attributes:
    loss: float32 scalar, of the whole batch.
    readings: dict of float32 scalars that loss_fn gave.
    gradients: list of dense tensors, of the whole batch.
    global_norm: float32 scalar, before clipping.
  """

  loss: Any
  readings: dict
  gradients: list
  global_norm: Any


def make_train_step(
  model,
  loss_fn,
  optimizer,
  train_batch_size,
  clip_norm,
  unsummed_embeddings=(),
  compiles=False,
  loss_scale=None,
  all_reduce="auto",
):
  """Makes the function that turns one batch into one update.

  loss = sum(loss of each window) / train_batch_size. The divisor is the
  constant and not the size of the batch at hand, so that a window weighs the
  same in a shorter last batch, and in any share of a batch.

  Args:
    model: built keras.Model.
    loss_fn: function (model, batch) -> float32 [batch], a loss per window, or
      a pair of it and a dict of float32 [batch] whose means are to be read
      beside the loss; it calls the model with training=True.
    optimizer: keras optimizer, built with the model's trainable variables.
      With several devices it must not sum gradients over them itself.
    train_batch_size: windows of a full batch.
    clip_norm: largest global norm of all gradients together.
    unsummed_embeddings: paths of embedding tables whose gradient enters that
      norm as rows in which repeated ids are not summed, as run_squad has it.
    compiles: whether XLA compiles loss and gradients.
    loss_scale: LossScale, or None.
    all_reduce: see ExecutionOptions.

  Returns:
    A TrainStep: function batch -> dict of float32 scalars: loss, learning_rate
    (the one used: that of the step count before the update), global_norm
    (before clipping). It is plain Python over TensorFlow ops, to be wrapped in
    tf.function.
  """
  return TrainStep(
    ShareGradients(
      model, loss_fn, train_batch_size, tuple(unsummed_embeddings), compiles
    ),
    optimizer,
    clip_norm,
    loss_scale,
    _communication(all_reduce),
  )


class TrainStep:
  """A step in two halves, with a place between them to leave the update out.

  Both halves run on every device (in replica context). Between them stand the
  gradients of the whole batch: every device sums over all devices, takes the
  one global norm, clips by it and applies the same update to its weights.

  Args:
    gradients: ShareGradients.
    optimizer: see `make_train_step`.
    clip_norm: likewise.
    loss_scale: likewise.
    communication: tf.distribute.experimental.CommunicationOptions, or None.
  """

  def __init__(
    self, gradients, optimizer, clip_norm, loss_scale, communication
  ):
    self._gradients = gradients
    self._optimizer = optimizer
    self._clip_norm = clip_norm
    self._loss_scale = loss_scale
    self._communication = communication

  @property
  def loss_scale(self):
    """LossScale, or None."""
    return self._loss_scale

  def __call__(self, batch):
    """Makes one update from a whole batch, on one device.

    Args:
      batch: dict of tensors [batch, ...].

    Returns:
      See `make_train_step`.
    """
    return self.update(
      self._pending(self._gradients(batch, self._scale_value()))
    )

  def gradients(self, parts, weights):
    """The first half: loss and gradients of the whole batch.

    Args:
      parts: this device's share, see `split_batch`: dict of tensors [parts,
        rows, ...].
      weights: float32 [parts, rows].

    Returns:
      PendingUpdate.
    """
    sums = self._gradients.of_parts(parts, weights, self._scale_value())
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
    """The second half: clips and applies.

    Args:
      pending: PendingUpdate.

    Returns:
      See `make_train_step`.
    """
    # clip_norm * min(1 / norm, 1 / clip_norm), as run_squad.
    clipped, _ = tf.clip_by_global_norm(
      pending.gradients, self._clip_norm, use_norm=pending.global_norm
    )
    learning_rate = tf.identity(self._optimizer.learning_rate)
    with tf.control_dependencies([learning_rate]):
      self._optimizer.apply(clipped, self._gradients.variables)
    return self._numbers(pending, learning_rate)

  def leave_out(self, pending):
    """What `update` gives for a step whose update is left out."""
    return self._numbers(pending, tf.identity(self._optimizer.learning_rate))

  def _scale_value(self):
    return None if self._loss_scale is None else self._loss_scale.value

  def _pending(self, sums):
    gradients, unsummed = sums.gradients, sums.unsummed
    if self._loss_scale is not None:
      scale = self._loss_scale.value
      gradients = [gradient / scale for gradient in gradients]
      unsummed = {path: half / scale**2 for path, half in unsummed.items()}
    halves = [
      unsummed[variable.path]
      if variable.path in unsummed
      else tf.nn.l2_loss(gradient)
      for gradient, variable in zip(
        gradients, self._gradients.variables, strict=True
      )
    ]
    norm = tf.sqrt(tf.reduce_sum(tf.stack(halves)) * 2.0)
    return PendingUpdate(sums.loss, sums.readings, gradients, norm)

  def _numbers(self, pending, learning_rate):
    return {
      "loss": pending.loss,
      "learning_rate": tf.cast(learning_rate, tf.float32),
      "global_norm": pending.global_norm,
      **pending.readings,
    }


def dynamic_signature(element_spec):
  """Frees every dimension of a batch's specification.

  One signature for all lengths means that the step is traced once; a length
  of its own per trace would cost seconds per length.

  Args:
    element_spec: nest of tf.TensorSpec, such as dataset.element_spec.

  Returns:
    The same nest; int32 [32, 128] becomes int32 [None, None].
  """
  return tf.nest.map_structure(
    lambda spec: tf.TensorSpec([None] * spec.shape.rank, spec.dtype),
    element_spec,
  )


def _communication(all_reduce):
  if all_reduce == "auto":
    return None
  options = tf.distribute.experimental
  return options.CommunicationOptions(
    implementation=options.CommunicationImplementation[all_reduce.upper()]
  )
