"""Runs training steps on the devices of a strategy."""

import numpy as np
import tensorflow as tf

from bert_span.training.checkpoints import random_states
from bert_span.training.strategy import device_kind

# Seeds of dropout are below this, so that no two replicas have the same.
_SEED_RANGE = 2**31


class StepRunner:
  """Runs training steps on the devices of a strategy, several steps a call.

  A call runs one tf.function, which also takes the batches from the iterator,
  so that no accelerator waits for the host between steps.
  """

  def __init__(self, strategy, train_step, step, dataset, most_steps=1):
    self._strategy = strategy
    self._train_step = train_step
    self._step = step
    self._names = None
    micro_batches = train_step.options.execution.accumulate_steps
    self._iterator = iter(distribute_batches(strategy, dataset, micro_batches))
    self._function = tf.function(
      self._one_step if most_steps == 1 else self._several_steps,
      autograph=False,
    )

  @property
  def num_traces(self):
    return self._function.experimental_get_tracing_count()

  def run(self, count):
    """Makes `count` steps; returns a dict of metrics for each."""
    try:
      rows = self._function(self._iterator, tf.constant(count)).numpy()
    except tf.errors.OutOfRangeError as error:
      raise ValueError(
        f"The batches ended at step {int(self._step)}: dataset_fn must give a "
        "batch for every step (repeat the data)."
      ) from error
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
    """Makes one step; returns float32 [metrics], sorted by name."""
    step = self._train_step
    if step.loss_scale is None:
      metrics = self._local(self._strategy.run(step.update_from, args=inputs))
    else:
      metrics = self._scaled_step(inputs)
    # If the data ended, the step is not counted.
    with tf.control_dependencies([metrics["loss"]]):
      self._step.assign_add(1)
    self._names = sorted(metrics)
    return tf.stack([metrics[name] for name in self._names])

  def _scaled_step(self, inputs):
    """Makes one step; skips the update if the gradients are not finite."""
    step, loss_scale = self._train_step, self._train_step.loss_scale
    gradients, replica_metrics = self._strategy.run(step.gradients, args=inputs)
    norm = replica_metrics["global_norm"]
    # All replicas have the same sums, so the first one decides for all.
    metrics = self._local(replica_metrics)
    is_finite = tf.math.is_finite(metrics["global_norm"])
    is_skipped = ~(is_finite | loss_scale.is_lowest)
    metrics["loss_scale"] = loss_scale.value
    metrics["skipped"] = tf.cast(is_skipped, tf.float32)

    def update():
      self._strategy.run(step.update, args=(gradients, norm))
      return True

    tf.cond(is_finite, update, lambda: False)
    loss_scale.adjust(is_finite)
    return metrics

  def _local(self, results):
    """Returns the results of this worker's first replica."""
    local = self._strategy.experimental_local_results
    return tf.nest.map_structure(lambda x: local(x)[0], results)


def compiles_steps(execution, strategy, dataset):
  """Returns whether XLA compiles the gradients; a TPU always compiles."""
  kind = device_kind(strategy)
  if execution.jit_compile != "auto" or kind != "GPU":
    return execution.jit_compile == "on" and kind != "TPU core"
  specs = tf.nest.flatten(dataset.element_spec)
  return all(spec.shape.is_fully_defined() for spec in specs)


def split_batch(batch, num_replicas, num_micro_batches=1):
  """Splits a batch into per-replica batches of equal size, as a TPU requires.

  Missing rows are copies of the first row with weight 0. Five windows a to e:

      replica 0: a b c, weights 1 1 1
      replica 1: d e a, weights 1 1 0

  Returns the batch and float32 weights [num_replicas, num_micro_batches, rows].
  """
  first = next(iter(batch.values()))
  # An int if it is known: TPUs need static shapes.
  num_rows = first.shape[0] or tf.shape(first)[0]
  num_batches = num_replicas * num_micro_batches
  rows = (num_rows + num_batches - 1) // num_batches
  positions = tf.range(rows * num_batches)
  is_real = positions < num_rows
  indices = tf.where(is_real, positions, 0)

  outer = [num_replicas, num_micro_batches]
  static_rows = rows if isinstance(rows, int) else None

  def split(tensor):
    shape = tf.concat([[*outer, rows], tf.shape(tensor)[1:]], axis=0)
    static_shape = [*outer, static_rows, *tensor.shape[1:]]
    return tf.ensure_shape(tf.reshape(tensor, shape), static_shape)

  batches = {name: split(tf.gather(x, indices)) for name, x in batch.items()}
  return batches, split(tf.cast(is_real, tf.float32))


def distribute_batches(strategy, dataset, num_micro_batches=1):
  """Distributes per-replica batches, see `split_batch`.

  Every worker makes the whole batch, so a run can continue on other devices.
  """

  def worker_dataset(context):
    num_replicas = context.num_replicas_in_sync
    local = num_replicas // context.num_input_pipelines
    first = context.input_pipeline_id * local

    @tf.autograph.experimental.do_not_convert
    def split_for_worker(batch):
      batches = split_batch(batch, num_replicas, num_micro_batches)
      return tf.nest.map_structure(lambda x: x[first : first + local], batches)

    batches = dataset.map(split_for_worker).unbatch()
    # TensorFlow would ask all workers for a next batch before every step.
    endless = tf.data.INFINITE_CARDINALITY
    if dataset.cardinality() == endless:
      batches = batches.apply(tf.data.experimental.assert_cardinality(endless))
    # A single replica gains nothing from a prefetch.
    if num_replicas > 1:
      batches = batches.prefetch(2 * local)
    # The tuning thread may delay the deletion of an iterator by a minute.
    options = tf.data.Options()
    options.autotune.enabled = False
    return batches.with_options(options)

  return strategy.distribute_datasets_from_function(worker_dataset)


def seed_dropout(model, seed):
  generator = np.random.default_rng(seed)
  for state in random_states(model):
    state.assign([int(generator.integers(_SEED_RANGE)), 0])


def spread_dropout(model, strategy):
  """Adds r * 2^31 to every seed on replica r: Keras seeds all replicas alike.

  A checkpoint has the seeds of replica 0: call this again after a restore.
  """
  states = random_states(model)
  if strategy.num_replicas_in_sync == 1 or not states:
    return

  def offset():
    context = tf.distribute.get_replica_context()
    replica = tf.cast(context.replica_id_in_sync_group, tf.int64)
    for state in states:
      seed, draws = tf.unstack(tf.cast(state.value, tf.int64))
      seed = seed % _SEED_RANGE + replica * _SEED_RANGE
      state.assign(tf.stack([seed, draws]))

  tf.function(lambda: strategy.run(offset), autograph=False)()
