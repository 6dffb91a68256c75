"""Splits a batch into per-replica batches, and these into micro-batches."""

import tensorflow as tf


def split_batch(batch, num_replicas, num_micro_batches=1):
  """Splits a batch into per-replica batches of equal size.

  A TPU demands equal sizes, and elsewhere the slowest replica decides anyway.
  Missing rows are filled with copies of the first row, of weight 0. Five
  windows a b c d e on two replicas:

      replica 0: a b c, weights 1 1 1
      replica 1: d e a, weights 1 1 0

  Returns:
    (batches, weights): the dict with tensors [num_replicas, num_micro_batches,
    rows, ...], and float32 [num_replicas, num_micro_batches, rows].
  """
  first = tf.nest.flatten(batch)[0]
  num_rows = first.shape[0]  # an int where it is known: TPUs want static shapes
  if num_rows is None:
    num_rows = tf.shape(first)[0]
  num_parts = num_replicas * num_micro_batches
  rows = (num_rows + num_parts - 1) // num_parts
  positions = tf.range(rows * num_parts)
  is_real = positions < num_rows
  indices = tf.where(is_real, positions, 0)
  outer = [num_replicas, num_micro_batches]
  static_rows = rows if isinstance(rows, int) else None

  def split(tensor):
    shape = tf.concat([[*outer, rows], tf.shape(tensor)[1:]], axis=0)
    parts = tf.reshape(tensor, shape)
    parts.set_shape([*outer, static_rows, *tensor.shape[1:]])
    return parts

  batches = tf.nest.map_structure(lambda x: split(tf.gather(x, indices)), batch)
  return batches, split(tf.cast(is_real, tf.float32))


def distribute_batches(strategy, dataset, num_micro_batches=1):
  """Gives every replica its part of every batch.

  Every worker makes the whole batch, which depends on nothing but seed and
  step, and takes its part of it. So the update of a step is the same on any
  number of devices and machines, and a run can continue on others.

  Returns:
    tf.distribute.DistributedDataset of pairs (micro_batches, weights), see
    `TrainStep.gradients`.
  """

  def worker_dataset(context):
    num_replicas = context.num_replicas_in_sync
    local = num_replicas // context.num_input_pipelines
    first = context.input_pipeline_id * local

    def of_worker(batch):
      batches = split_batch(batch, num_replicas, num_micro_batches)
      return tf.nest.map_structure(lambda x: x[first : first + local], batches)

    batches = dataset.map(of_worker).unbatch()
    # Without a known cardinality TensorFlow would ask all workers before every
    # step whether there is a next batch.
    if dataset.cardinality() == tf.data.INFINITE_CARDINALITY:
      batches = batches.apply(
        tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)
      )
    # One replica takes its batches as fast as the dataset makes them.
    if num_replicas > 1:
      batches = batches.prefetch(2 * local)
    # There is nothing to tune, and TensorFlow may wait up to a minute for the
    # thread that tunes when it deletes an iterator.
    options = tf.data.Options()
    options.autotune.enabled = False
    return batches.with_options(options)

  return strategy.distribute_datasets_from_function(worker_dataset)
