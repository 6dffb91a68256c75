"""Runs compiled steps: one at a time, or several within one call."""

import tensorflow as tf

from bert_span.training.devices.strategy import computes_on_accelerator
from bert_span.training.shares import distribute_shares
from bert_span.training.step import dynamic_signature


class WholeBatchRunner:
  """Runs steps on one device, a call a step.

  Args:
    train_step: TrainStep without a loss scale.
    step: int64 tf.Variable, raised after every step.
    dataset: tf.data.Dataset of dicts of tensors [batch, ...].
  """

  def __init__(self, train_step, step, dataset):
    def counted_step(batch):
      numbers = train_step(batch)
      step.assign_add(1)
      return numbers

    self._function = tf.function(
      counted_step, input_signature=[dynamic_signature(dataset.element_spec)]
    )
    self._batches = iter(dataset)

  @property
  def num_traces(self):
    """How often the step was traced."""
    return self._function.experimental_get_tracing_count()

  def run(self, count):
    """Makes steps.

    Args:
      count: how many.

    Returns:
      List of pairs: dict of scalars still on the device, see
      `make_train_step`, and the number of windows; shorter than count where
      the data ended.
    """
    made = []
    for batch in self._batches:
      num_windows = tf.nest.flatten(batch)[0].shape[0]
      made.append((self._function(batch), num_windows))
      if len(made) == count:
        break
    return made


class ShareRunner:
  """Runs steps on the devices of a strategy, several steps a call.

  The steps of a call run within one tf.function: no host waits between them,
  and batches are taken from the iterator in there.

  Args:
    strategy: tf.distribute.Strategy.
    train_step: TrainStep.
    step: int64 tf.Variable, raised after every step.
    dataset_fn: function () -> tf.data.Dataset of dicts [batch, ...].
    train_batch_size: windows of a batch.
    num_parts: parts that a device makes of its share of a batch.
    most_steps: steps that `run` may be asked for.
  """

  def __init__(
    self,
    strategy,
    train_step,
    step,
    dataset_fn,
    train_batch_size,
    num_parts,
    most_steps,
  ):
    self._strategy = strategy
    self._train_step = train_step
    self._step = step
    self._train_batch_size = train_batch_size
    self._names = None
    self._iterator = iter(distribute_shares(strategy, dataset_fn, num_parts))
    self._function = tf.function(
      self._one_step if most_steps == 1 else self._several_steps
    )

  @property
  def num_traces(self):
    """How often the step was traced."""
    return self._function.experimental_get_tracing_count()

  def run(self, count):
    """Makes steps; see `WholeBatchRunner.run`."""
    try:
      rows = self._function(self._iterator, tf.constant(count)).numpy()
    except tf.errors.OutOfRangeError:
      return []
    return [
      (dict(zip(self._names, row, strict=True)), self._train_batch_size)
      for row in rows
    ]

  def _one_step(self, iterator, unused_count):
    """float32 [1, numbers]."""
    return self._numbers(next(iterator))[tf.newaxis]

  def _several_steps(self, iterator, count):
    """float32 [count, numbers]."""

    def body(index, rows):
      numbers = self._numbers(next(iterator))
      return index + 1, rows.write(index, numbers)

    rows = tf.TensorArray(tf.float32, size=count, infer_shape=False)
    _, rows = tf.while_loop(
      lambda index, unused_rows: index < count,
      body,
      [tf.constant(0), rows],
      parallel_iterations=1,
    )
    return rows.stack()

  def _numbers(self, share):
    """Makes one step; its numbers as float32 [numbers], in order of names."""
    numbers = self._run_step(*share)
    with tf.control_dependencies([numbers["loss"]]):  # Where there was a batch.
      self._step.assign_add(1)
    self._names = sorted(numbers)
    return tf.stack([numbers[name] for name in self._names])

  def _run_step(self, parts, weights):
    step = self._train_step
    if step.loss_scale is None:
      return self._on_devices(
        lambda *share: step.update(step.gradients(*share)), parts, weights
      )
    pending = self._strategy.run(step.gradients, args=(parts, weights))
    # All devices hold the same sums, so the first one speaks for all.
    is_finite = tf.math.is_finite(self._local(pending.global_norm))
    scale = step.loss_scale.value
    is_skipped = tf.logical_not(
      tf.logical_or(is_finite, step.loss_scale.is_lowest)
    )
    numbers = tf.cond(
      is_finite,
      lambda: self._on_devices(step.update, pending),
      lambda: self._on_devices(step.leave_out, pending),
    )
    step.loss_scale.adjust(is_finite)
    return {
      **numbers,
      "loss_scale": scale,
      "skipped": tf.cast(is_skipped, tf.float32),
    }

  def _on_devices(self, function, *arguments):
    """What a function gives on the first of this worker's devices."""
    results = self._strategy.run(function, args=arguments)
    return tf.nest.map_structure(self._local, results)

  def _local(self, value):
    return self._strategy.experimental_local_results(value)[0]


def make_runner(
  train_step,
  strategy,
  step,
  dataset,
  train_batch_size,
  num_parts,
  most_steps,
):
  """Gives a step its batches: whole ones where nothing is to be shared.

  Args:
    train_step: TrainStep.
    strategy: tf.distribute.Strategy.
    step: int64 tf.Variable, raised after every step.
    dataset: tf.data.Dataset of dicts of tensors [batch, ...].
    train_batch_size: windows of a batch.
    num_parts: parts that a device makes of its share of a batch.
    most_steps: steps that a call may be asked for.

  Returns:
    A WholeBatchRunner or a ShareRunner.
  """
  is_plain = (
    strategy is tf.distribute.get_strategy()
    and num_parts == most_steps == 1
    and train_step.loss_scale is None
  )
  if is_plain:
    return WholeBatchRunner(train_step, step, dataset)
  return ShareRunner(
    strategy,
    train_step,
    step,
    lambda: dataset,
    train_batch_size,
    num_parts,
    most_steps,
  )


def steps_per_call(strategy, most):
  """Steps that one call makes.

  A CPU takes seconds for a step, beside which a call is nothing; an
  accelerator would wait for its host.

  Args:
    strategy: tf.distribute.Strategy.
    most: steps between two readings.
  """
  return most if computes_on_accelerator(strategy) else 1


def compiles_steps(execution, strategy, element_spec):
  """Whether XLA compiles loss and gradients.

  Args:
    execution: ExecutionOptions.
    strategy: tf.distribute.Strategy.
    element_spec: of the batches. XLA compiles every length anew, so "auto"
      wants one; on a CPU it did not pay, and a TPU compiles as it is.
  """
  if isinstance(strategy, tf.distribute.TPUStrategy):
    return False
  if execution.jit_compile != "auto":
    return execution.jit_compile == "on"
  return computes_on_accelerator(strategy) and all(
    spec.shape.is_fully_defined() for spec in tf.nest.flatten(element_spec)
  )
