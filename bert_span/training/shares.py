"""A batch cut into shares of equal size, one for every device."""

import tensorflow as tf


def split_batch(batch, num_devices, num_parts=1):
  """Cuts a batch into shares, and these into parts.

  Shares are equal, as a TPU demands and as the slowest device decides anyway:
  where rows are missing, copies of the first row with weight 0 stand in for
  them. Five windows a b c d e on two devices:

      device 0: a b c, weights 1 1 1
      device 1: d e a, weights 1 1 0

  Args:
    batch: dict of tensors [batch, ...], with at least one row.
    num_devices: shares.
    num_parts: parts of a share that are computed one after another.

  Returns:
    (shares, weights): the dict with tensors [num_devices, num_parts, rows,
    ...], and float32 [num_devices, num_parts, rows], 1 for rows of the batch.
  """
  first = tf.nest.flatten(batch)[0]
  num_rows = first.shape[0]  # an int where it is known: TPUs want static shapes
  if num_rows is None:
    num_rows = tf.shape(first)[0]
  num_shares = num_devices * num_parts
  rows = (num_rows + num_shares - 1) // num_shares
  positions = tf.range(rows * num_shares)
  is_real = positions < num_rows
  indices = tf.where(is_real, positions, 0)
  outer = [num_devices, num_parts, rows if isinstance(rows, int) else None]

  def split(tensor):
    inner = tf.shape(tensor)[1:]
    shape = tf.concat([[num_devices, num_parts, rows], inner], axis=0)
    split = tf.reshape(tensor, shape)
    split.set_shape([*outer, *tensor.shape[1:]])
    return split

  shares = tf.nest.map_structure(lambda x: split(tf.gather(x, indices)), batch)
  return shares, split(tf.cast(is_real, tf.float32))


def distribute_shares(strategy, dataset_fn, num_parts=1):
  """Gives every device its share of every batch.

  Every worker makes the whole batch, which depends on nothing but seed and
  step, and takes its part of it. So the update of a step is the same on any
  number of devices and machines, and a run may go on on others.

  Args:
    strategy: tf.distribute.Strategy.
    dataset_fn: function () -> tf.data.Dataset of dicts of tensors [batch, ...].
    num_parts: see `split_batch`.

  Returns:
    tf.distribute.DistributedDataset of pairs (share, weights), each [num_parts,
    rows, ...] on a device.
  """

  def worker_dataset(context):
    num_devices = context.num_replicas_in_sync
    local = num_devices // context.num_input_pipelines
    first = context.input_pipeline_id * local

    def of_worker(batch):
      shares = split_batch(batch, num_devices, num_parts)
      return tf.nest.map_structure(lambda x: x[first : first + local], shares)

    batches = dataset_fn()
    shares = batches.map(of_worker).unbatch()
    # Known without a look at the data: TensorFlow would ask all workers before
    # every step whether there is a next one.
    if batches.cardinality() == tf.data.INFINITE_CARDINALITY:
      shares = shares.apply(
        tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)
      )
    return shares.prefetch(2 * local)

  return strategy.distribute_datasets_from_function(worker_dataset)
