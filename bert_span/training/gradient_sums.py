"""Loss and gradients of a device's share of a batch."""

from typing import Any, NamedTuple

import tensorflow as tf


class GradientSums(NamedTuple):
  """Sums that add up over parts of a batch, whatever computes them.

  Attributes:
    loss: float32 scalar, summed over windows, divided by the batch size.
    readings: dict of float32 scalars that loss_fn gave, likewise.
    gradients: list of dense tensors.
    unsummed: dict from the path of an embedding table to half the squared
      norm of its gradient's rows, with repeated ids not summed.
  """

  loss: Any
  readings: dict
  gradients: list
  unsummed: dict


class ShareGradients:
  """Computes the GradientSums of a share of a batch.

  Args:
    model: built keras.Model.
    loss_fn: see `make_train_step`.
    train_batch_size: windows of a full batch.
    unsummed_embeddings: see `make_train_step`.
    compiles: whether XLA compiles loss and gradients.
  """

  def __init__(
    self, model, loss_fn, train_batch_size, unsummed_embeddings, compiles
  ):
    self._model = model
    self._loss_fn = loss_fn
    self._train_batch_size = train_batch_size
    self._unsummed_embeddings = unsummed_embeddings
    self._compiles = compiles
    self._variables = None
    self._function = tf.function(
      self._sums, jit_compile=True if compiles else None
    )

  @property
  def variables(self):
    """The keras.Variables that the gradients are of, once there are some."""
    return self._variables

  def __call__(self, batch, loss_scale):
    """Computes loss and gradients of a whole batch.

    Args:
      batch: dict of tensors [batch, ...].
      loss_scale: factor of the gradients, or None.

    Returns:
      GradientSums.
    """
    sums = self._function if self._compiles else self._sums
    return sums(batch, None, loss_scale)

  def of_parts(self, parts, weights, loss_scale):
    """Computes them part by part, one after another, and sums.

    Args:
      parts: dict of tensors [parts, rows, ...].
      weights: float32 [parts, rows], see `split_batch`.
      loss_scale: factor of the gradients, or None.

    Returns:
      GradientSums.
    """
    num_parts = weights.shape[0]
    if num_parts == 1:
      batch = tf.nest.map_structure(lambda x: x[0], parts)
      sums = self._function if self._compiles else self._sums
      return sums(batch, weights[0], loss_scale)

    def part(index):
      batch = tf.nest.map_structure(lambda x: x[index], parts)
      return batch, weights[index], loss_scale

    # A function, so that it is traced once: for what it gives, and for the
    # loop, which needs that beforehand.
    structure = self._function.get_concrete_function(
      *part(0)
    ).structured_outputs
    zeros = [tf.zeros(x.shape, x.dtype) for x in tf.nest.flatten(structure)]

    def add_part(index, *totals):
      sums = tf.nest.flatten(self._function(*part(index)))
      return index + 1, *[a + b for a, b in zip(totals, sums, strict=True)]

    # One part at a time: side by side they would need the memory of all.
    _, *totals = tf.while_loop(
      lambda index, *unused_totals: index < num_parts,
      add_part,
      [tf.constant(0), *zeros],
      parallel_iterations=1,
      maximum_iterations=num_parts,
    )
    return tf.nest.pack_sequence_as(structure, totals)

  def _sums(self, batch, weights, loss_scale):
    with tf.GradientTape() as tape:
      losses = self._loss_fn(self._model, batch)
      losses, values = losses if isinstance(losses, tuple) else (losses, {})
      loss = self._mean(losses, weights)
      target = loss if loss_scale is None else loss * loss_scale
    gradients, self._variables = gradients_of(
      tape, target, self._model.trainable_variables
    )
    return GradientSums(
      loss,
      {name: self._mean(value, weights) for name, value in values.items()},
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

  def _mean(self, values, weights):
    """The share of some windows in the mean over a full batch."""
    if weights is not None:  # What stands in for missing rows counts nothing.
      values = tf.math.multiply_no_nan(values, weights)
    return tf.reduce_sum(values) / self._train_batch_size


def gradients_of(tape, loss, variables):
  """Gives the gradients of the variables that the loss depends on.

  The gradient of an embedding comes as rows with repeated ids, whose norm is
  not the gradient's: rows of one id must be summed before a norm is taken.
  run_squad clips by the norm of the unsummed rows, which is some 1 % less.

  Variables without a gradient, such as the pooler's, are left out: they are
  neither updated nor decayed.

  Args:
    tape: tf.GradientTape that recorded the loss.
    loss: scalar.
    variables: keras.Variables.

  Returns:
    (gradients, variables): lists of the same length; tensors, and
    tf.IndexedSlices of embeddings.

  Raises:
    ValueError: the loss depends on none of the variables.
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
