"""Runs training steps on the devices of a strategy."""

import tensorflow as tf

from bert_span.training.batch_split import distribute_batches
from bert_span.training.devices.strategy import computes_on_accelerator


class StepRunner:
  """Runs training steps on the devices of a strategy, several steps a call.

  The steps of a call are one tf.function, which also takes the batches from
  the iterator: an accelerator does not wait for the host between them.

  Args:
    strategy: tf.distribute.Strategy.
    train_step: `TrainStep`.
    step: int64 tf.Variable, raised after every step.
    dataset: tf.data.Dataset of dicts of tensors [batch, ...].
    num_micro_batches: see `split_batch`.
    most_steps: largest count of steps for `run`.
  """

  def __init__(
    self, strategy, train_step, step, dataset, num_micro_batches, most_steps
  ):
    self._strategy = strategy
    self._train_step = train_step
    self._step = step
    self._names = None
    self._iterator = iter(
      distribute_batches(strategy, dataset, num_micro_batches)
    )
    self._function = tf.function(
      self._one_step if most_steps == 1 else self._several_steps
    )

  @property
  def num_traces(self):
    """How often the step was traced."""
    return self._function.experimental_get_tracing_count()

  def run(self, count):
    """Makes `count` steps.

    Returns:
      List of dicts of metrics, one a step; empty where the data ended.
    """
    try:
      rows = self._function(self._iterator, tf.constant(count)).numpy()
    except tf.errors.OutOfRangeError:
      return []
    return [dict(zip(self._names, row, strict=True)) for row in rows]

  def _one_step(self, iterator, unused_count):
    return self._metrics(next(iterator))[tf.newaxis]  # [1, metrics]

  def _several_steps(self, iterator, count):
    def body(index, rows):
      return index + 1, rows.write(index, self._metrics(next(iterator)))

    rows = tf.TensorArray(tf.float32, size=count, infer_shape=False)
    _, rows = tf.while_loop(
      lambda index, unused_rows: index < count,
      body,
      [tf.constant(0), rows],
      parallel_iterations=1,
    )
    return rows.stack()  # [count, metrics]

  def _metrics(self, inputs):
    """Makes one step; its metrics as float32 [metrics], in order of names."""
    metrics = self._run_step(*inputs)
    with tf.control_dependencies([metrics["loss"]]):  # Not if data ended.
      self._step.assign_add(1)
    self._names = sorted(metrics)
    return tf.stack([metrics[name] for name in self._names])

  def _run_step(self, micro_batches, weights):
    step, loss_scale = self._train_step, self._train_step.loss_scale
    if loss_scale is None:
      return self._on_replicas(
        lambda *inputs: step.update(step.gradients(*inputs)),
        micro_batches,
        weights,
      )
    pending = self._strategy.run(step.gradients, args=(micro_batches, weights))
    # All replicas have the same sums, so the first one decides for all.
    is_finite = tf.math.is_finite(self._local(pending.global_norm))
    scale = loss_scale.value
    is_skipped = tf.logical_not(tf.logical_or(is_finite, loss_scale.is_lowest))
    metrics = tf.cond(
      is_finite,
      lambda: self._on_replicas(step.update, pending),
      lambda: self._on_replicas(step.skip, pending),
    )
    loss_scale.adjust(is_finite)
    return {
      **metrics,
      "loss_scale": scale,
      "skipped": tf.cast(is_skipped, tf.float32),
    }

  def _on_replicas(self, function, *arguments):
    """Runs a function on all replicas; returns this worker's first result."""
    results = self._strategy.run(function, args=arguments)
    return tf.nest.map_structure(self._local, results)

  def _local(self, value):
    return self._strategy.experimental_local_results(value)[0]


def steps_per_call(strategy, most):
  """Steps that one call of the step function makes, `most` on accelerators.

  A step takes a CPU so long that the call itself is nothing.
  """
  return most if computes_on_accelerator(strategy) else 1


def compiles_steps(jit_compile, strategy, element_spec):
  """Whether XLA compiles loss and gradients.

  "auto" compiles on GPUs with batches of one length, since XLA compiles every
  length anew. On a CPU it did not pay, and a TPU compiles in any case.
  """
  if isinstance(strategy, tf.distribute.TPUStrategy):
    return False
  if jit_compile != "auto":
    return jit_compile == "on"
  return computes_on_accelerator(strategy) and all(
    spec.shape.is_fully_defined() for spec in tf.nest.flatten(element_spec)
  )
