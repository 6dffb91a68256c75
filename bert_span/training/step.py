"""One update of the weights: loss, gradients, clipping, optimizer."""

import tensorflow as tf


def make_train_step(
  model,
  loss_fn,
  optimizer,
  train_batch_size,
  clip_norm,
  unsummed_embeddings=(),
):
  """Makes the function that turns one batch into one update.

  loss = sum(loss of each window) / train_batch_size. The divisor is the
  constant and not the size of the batch at hand, so that a window weighs the
  same in a shorter last batch, and in any share of a batch.

  Args:
    model: built keras.Model.
    loss_fn: function (model, batch) -> float32 [batch], a loss per window, or
      a pair of it and a dict of scalars to be read beside the loss; it calls
      the model with training=True.
    optimizer: keras optimizer, built with the model's trainable variables.
    train_batch_size: windows of a full batch.
    clip_norm: largest global norm of all gradients together.
    unsummed_embeddings: paths of embedding tables whose gradient enters that
      norm as rows in which repeated ids are not summed, as run_squad has it.

  Returns:
    Function batch -> dict of float32 scalars: loss, learning_rate (the one
    used: that of the step count before the update), global_norm (before
    clipping). It is plain Python over TensorFlow ops, to be wrapped in
    tf.function.
  """

  def train_step(batch):
    with tf.GradientTape() as tape:
      losses = loss_fn(model, batch)
      losses, scalars = losses if isinstance(losses, tuple) else (losses, {})
      loss = tf.reduce_sum(losses) / train_batch_size
    gradients, variables = gradients_of(tape, loss, model.trainable_variables)
    dense = [tf.convert_to_tensor(gradient) for gradient in gradients]
    norm = tf.linalg.global_norm(
      [
        gradient.values if variable.path in unsummed_embeddings else summed
        for gradient, summed, variable in zip(
          gradients, dense, variables, strict=True
        )
      ]
    )
    # clip_norm * min(1 / norm, 1 / clip_norm), as run_squad.
    clipped, _ = tf.clip_by_global_norm(dense, clip_norm, use_norm=norm)
    learning_rate = tf.identity(optimizer.learning_rate)
    with tf.control_dependencies([learning_rate]):
      optimizer.apply(clipped, variables)
    return {
      "loss": loss,
      "learning_rate": tf.cast(learning_rate, tf.float32),
      "global_norm": norm,
      **scalars,
    }

  return train_step


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
