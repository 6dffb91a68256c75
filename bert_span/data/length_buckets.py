"""Batches of windows of similar length, in an order that a seed determines.

Windows of SQuAD at 384 WordPieces are 162 long on average: padding all of them
to 384 wastes more than half of the computation. Here every batch contains
exactly batch_size windows, so steps and schedule are those of run_squad, and is
padded to the next multiple of the bucket width only. Windows are shuffled
before they go into buckets, and batches afterwards: the length determines which
windows share a batch, not when they are trained on.
"""

import threading

import numpy as np
import tensorflow as tf


class BucketedBatches:
  """An endless stream of training batches, a pure function of seed and step.

  In each epoch all windows are shuffled and divided into batches. The windows
  that remain, fewer than batch_size, are added to the next epoch.

  Args:
    windows: `PackedWindows`, at least one.
    batch_size: windows in every batch.
    max_seq_length: WordPieces; no window is longer.
    bucket_width: batches are padded to a multiple of this, in WordPieces; None
      pads all to max_seq_length.
    seed: int; the same seed gives the same batches.
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
    """An endless tf.data.Dataset of `PackedWindows.batch` from a step on."""
    is_static = self._bucket_width >= self._max_seq_length
    length = self._max_seq_length if is_static else None
    one = self._windows.batch(np.array([0]), int(self._windows.lengths[0]))

    def arrays_of(step):
      with self._lock:  # several iterators may run
        indices = self._batch_indices(int(step))
      batch = self._windows.batch(indices, self.padded_length(indices))
      return list(batch.values())

    def batch_of(step):
      types = [array.dtype for array in one.values()]
      values = tf.numpy_function(arrays_of, [step], types)
      for value, array in zip(values, one.values(), strict=True):
        shape = [self._batch_size, length, *array.shape[2:]]
        value.set_shape(shape[: array.ndim])
      return dict(zip(one, values, strict=True))

    # Not Dataset.from_generator: it makes the C library return freed memory
    # immediately, in the whole process, and training spends its time on pages.
    dataset = tf.data.Dataset.counter(start=first_step, dtype=tf.int64)
    return dataset.map(batch_of).prefetch(4)

  def mean_padded_length(self):
    """Returns the mean WordPieces of the batches of the first epoch."""
    batches = next(epoch for epoch in self._epochs_of_batches() if epoch)
    return float(np.mean([self.padded_length(batch) for batch in batches]))

  def padded_length(self, indices):
    """Returns the WordPieces that a batch of windows is padded to, an int."""
    length = int(self._buckets[indices].max()) * self._bucket_width
    return min(length, self._max_seq_length)

  def _batch_indices(self, step):
    """int64 [batch_size], the windows of a batch."""
    if step < self._epoch_start:  # another iterator has started
      self._rewind()
    while step >= self._epoch_start + len(self._epoch_batches):
      self._epoch_start += len(self._epoch_batches)
      self._epoch_batches = next(self._epochs)
    return self._epoch_batches[step - self._epoch_start]

  def _rewind(self):
    self._epochs = self._epochs_of_batches()
    self._epoch_start, self._epoch_batches = 0, []

  def _epochs_of_batches(self):
    """Yields the batches of each epoch, a list of int64 [batch_size]."""
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
      # The rests of all buckets are batched together. Those that wait for the
      # next epoch are chosen at random: they would always be the longest ones.
      rest = rng.permutation(np.concatenate(rest))
      num_waiting = len(rest) % self._batch_size
      waiting, rest = rest[:num_waiting], rest[num_waiting:]
      rest = rest[np.argsort(self._buckets[rest], kind="stable")]
      batches.extend(rest.reshape(-1, self._batch_size))
      yield [batches[i] for i in rng.permutation(len(batches))]
      epoch += 1
