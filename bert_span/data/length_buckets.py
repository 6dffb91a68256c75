"""Batches of windows of similar length, in an order that a seed determines.

With max_seq_length=384, windows of SQuAD have 162 WordPieces on average:
padding all of them to 384 wastes more than half of the computation. Here a
batch is padded to the next multiple of the bucket width only. Every batch has
exactly batch_size windows, so steps and schedule are those of run_squad.
Windows are shuffled before they go into buckets, and batches afterwards: the
length determines which windows share a batch, not when they are trained on.
"""

import threading

import numpy as np
import tensorflow as tf


class BucketedBatches:
  """An endless stream of training batches; seed and step determine a batch.

  In each epoch all windows are shuffled and divided into batches. Fewer than
  batch_size windows remain; they are added to the next epoch.

  Args:
    windows: `PackedWindows`, at least one.
    batch_size: windows in every batch.
    max_seq_length: WordPieces; no window is longer.
    bucket_width: WordPieces; batches are padded to a multiple of it, with None
      to max_seq_length.
    seed: int.
  """

  def __init__(self, windows, batch_size, max_seq_length, bucket_width, seed):
    self._windows = windows
    self._batch_size = batch_size
    self._max_seq_length = max_seq_length
    self._bucket_width = bucket_width or max_seq_length
    self._buckets = -(-windows.lengths // self._bucket_width)  # rounded up
    self._seed = seed
    self._lock = threading.Lock()
    self._rewind()

  def dataset(self, first_step):
    """Returns an endless tf.data.Dataset of `PackedWindows.batch`."""
    is_static = self._bucket_width >= self._max_seq_length
    length = self._max_seq_length if is_static else None
    first = self._windows.batch(np.array([0]), int(self._windows.lengths[0]))

    def arrays_of(step):
      with self._lock:  # Several iterators may run.
        indices = self._batch_indices(int(step))
      batch = self._windows.batch(indices, self.padded_length(indices))
      return list(batch.values())

    @tf.autograph.experimental.do_not_convert
    def batch_of(step):
      types = [array.dtype for array in first.values()]
      values = tf.numpy_function(arrays_of, [step], types)
      for value, array in zip(values, first.values(), strict=True):
        shape = [self._batch_size, length, *array.shape[2:]]
        value.set_shape(shape[: array.ndim])
      return dict(zip(first, values, strict=True))

    # Not Dataset.from_generator: with it the C library of the whole process
    # returns freed memory at once, and training spends its time on page faults.
    dataset = tf.data.Dataset.counter(start=first_step, dtype=tf.int64)
    return dataset.map(batch_of).prefetch(4)

  def mean_padded_length(self):
    """Returns the mean padded length of the first epoch's batches, a float."""
    batches = next(epoch for epoch in self._epochs_of_batches() if epoch)
    return float(np.mean([self.padded_length(batch) for batch in batches]))

  def padded_length(self, indices):
    """Returns the WordPieces that a batch of these windows is padded to."""
    length = int(self._buckets[indices].max()) * self._bucket_width
    return min(length, self._max_seq_length)

  def _batch_indices(self, step):
    """Returns the indices of a batch's windows, int64 [batch_size]."""
    if step < self._epoch_start:  # Another iterator has started.
      self._rewind()
    while step >= self._epoch_start + len(self._epoch_batches):
      self._epoch_start += len(self._epoch_batches)
      self._epoch_batches = next(self._epochs)
    return self._epoch_batches[step - self._epoch_start]

  def _rewind(self):
    self._epochs = self._epochs_of_batches()
    self._epoch_start, self._epoch_batches = 0, []

  def _epochs_of_batches(self):
    """Yields the list of batches of each epoch, each int64 [batch_size]."""
    epoch, waiting = 0, np.array([], np.int64)
    while True:
      rng = np.random.default_rng([self._seed, epoch])
      pool = np.concatenate([waiting, np.arange(len(self._windows))])
      pool = rng.permutation(pool)
      batches, rest = [], []
      for bucket in np.unique(self._buckets[pool]):
        group = pool[self._buckets[pool] == bucket]
        full = len(group) - len(group) % self._batch_size
        batches += list(group[:full].reshape(-1, self._batch_size))
        rest.append(group[full:])
      # The rests of all buckets are batched together. Windows that wait for the
      # next epoch are chosen at random: else the longest would always wait.
      rest = rng.permutation(np.concatenate(rest))
      num_waiting = len(rest) % self._batch_size
      waiting, rest = rest[:num_waiting], rest[num_waiting:]
      rest = rest[np.argsort(self._buckets[rest], kind="stable")]
      batches.extend(rest.reshape(-1, self._batch_size))
      yield [batches[i] for i in rng.permutation(len(batches))]
      epoch += 1
