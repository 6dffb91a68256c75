"""The memory of a training step, measured by making one."""

import resource

import tensorflow as tf

from bert_span.training.optimizer import BertAdamW
from bert_span.training.step import TrainStep
from bert_span.training.step_runner import compiles_steps, split_batch


def measure_step(model, loss_fn, batch, options):
  """Makes one step on this machine's device and reads the peak memory.

  The weights do not change, since the learning rate is 0. `batch` is a dict of
  arrays [rows, ...], the largest per-replica batch; for `loss_fn` see
  `TrainStep`, for the result `peak_bytes`.

  Raises:
    tf.errors.ResourceExhaustedError: the step does not fit.
  """
  optimizer = BertAdamW(0.0)
  optimizer.build(model.trainable_variables)
  batch = {name: tf.convert_to_tensor(array) for name, array in batch.items()}
  # Of one length, as the batches of a training with a fixed length are.
  jit_compile = compiles_steps(
    options.execution.jit_compile,
    tf.distribute.get_strategy(),
    tf.nest.map_structure(tf.TensorSpec.from_tensor, batch),
  )
  step = TrainStep(
    model,
    loss_fn,
    optimizer,
    options.train_batch_size,
    options.clip_norm,
    jit_compile=jit_compile,
  )

  @tf.function
  def update(batch):
    batches, weights = split_batch(batch, 1, options.execution.accumulate_steps)
    micro_batches = tf.nest.map_structure(lambda x: x[0], batches)
    return step.update(step.gradients(micro_batches, weights[0]))

  float(update(batch)["loss"])
  return peak_bytes()


def peak_bytes():
  """Peak bytes of TensorFlow on the GPU, or without one of the process."""
  if tf.config.list_physical_devices("GPU"):
    return tf.config.experimental.get_memory_info("GPU:0")["peak"]
  # Linux counts in KiB.
  return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
