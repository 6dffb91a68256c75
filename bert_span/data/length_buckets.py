"""Batches of windows of similar length, in an order that a seed decides.

Windows of SQuAD at 384 WordPieces are 162 long on average; padding them all to
384 wastes more than half of the computation. Here every batch holds exactly
batch_size windows, so steps and schedule stay those of the original, and is
padded to the next multiple of the bucket width only. Windows are shuffled
before they are put into buckets and batches after it, so length decides with
whom a window shares a batch and not when.
"""

import threading

import numpy as np
import tensorflow as tf


class BucketedBatches:
  """An endless stream of training batches, a pure function of seed and step.

  Epoch after epoch, all windows are shuffled and dealt into batches. What an
  epoch leaves over, fewer than batch_size windows, joins the next one.

  Args:
    windows: `PackedWindows`, at least one.
    batch_size: windows in every batch.
    max_seq_length: WordPieces; no window is longer.
    bucket_width: batches are padded to a multiple of it, in WordPieces; None
      pads all to max_seq_length.
    seed: int; the same seed gives the same batches.
  """

  def __init__(self, windows, batch_size, max_seq_length, bucket_width, seed):
    if not len(windows):
      raise ValueError("There are no windows to make batches of.")
    self._windows = windows
    # What a batch holds, of which types and ranks, is up to the windows.
    self._one_window = windows.batch(np.array([0]), int(windows.lengths[0]))
    self._batch_size = batch_size
    self._max_seq_length = max_seq_length
    self._bucket_width = bucket_width or max_seq_length
    self._buckets = -(-windows.lengths // self._bucket_width)  # rounded up
    self._seed = seed
    self._lock = threading.Lock()
    self._rewind()

  def dataset(self, first_step):
    """The batches from one step on.

    Args:
      first_step: number of the first batch, counted from 0.

    Returns:
      Endless tf.data.Dataset of the dicts that `windows.batch` gives.
    """

    # Not Dataset.from_generator: it makes the C library give freed memory back
    # at once, for the whole process, and training spends its time on pages.
    def batch_of(step):
      types = [array.dtype for array in self._one_window.values()]
      values = tf.numpy_function(self._batch_arrays, [step], types)
      batch = dict(zip(self._one_window, values, strict=True))
      for name, value in batch.items():
        one = self._one_window[name]
        shape = [self._batch_size, self._static_length, *one.shape[2:]]
        value.set_shape(shape[: one.ndim])
      return batch

    dataset = tf.data.Dataset.counter(start=first_step, dtype=tf.int64)
    return dataset.map(batch_of).prefetch(4)

  def mean_padded_length(self):
    """WordPieces a window takes in the first epoch's batches, on average."""
    batches = next(epoch for epoch in self._deal_epochs() if epoch)
    return float(np.mean([self.padded_length(batch) for batch in batches]))

  def padded_length(self, indices):
    """WordPieces that a batch is padded to.

    Args:
      indices: int [batch], its windows.

    Returns:
      int.
    """
    length = int(self._buckets[indices].max()) * self._bucket_width
    return min(length, self._max_seq_length)

  @property
  def _static_length(self):
    """WordPieces of every batch where they are all the same, else None."""
    if self._bucket_width < self._max_seq_length:
      return None
    return self._max_seq_length

  def _batch_arrays(self, step):
    """The arrays of a batch, in the order of its names."""
    with self._lock:  # several iterators may run
      indices = self._batch_indices(int(step))
    batch = self._windows.batch(indices, self.padded_length(indices))
    return list(batch.values())

  def _batch_indices(self, step):
    """int64 [batch_size], the windows of a batch."""
    if step < self._epoch_start:  # back to the beginning: another iterator
      self._rewind()
    while step >= self._epoch_start + len(self._epoch_batches):
      self._epoch_start += len(self._epoch_batches)
      self._epoch_batches = next(self._epochs)
    return self._epoch_batches[step - self._epoch_start]

  def _rewind(self):
    self._epochs = self._deal_epochs()
    self._epoch_start = 0
    self._epoch_batches = []

  def _deal_epochs(self):
    """Yields each epoch's batches, a list of int64 [batch_size]."""
    left_over = np.array([], np.int64)
    epoch = 0
    while True:
      rng = np.random.default_rng([self._seed, epoch])
      pool = np.concatenate([left_over, np.arange(len(self._windows))])
      batches, left_over = self._deal(rng.permutation(pool), rng)
      yield batches
      epoch += 1

  def _deal(self, pool, rng):
    """Deals shuffled windows into batches.

    Args:
      pool: int64 [windows], shuffled.
      rng: np.random.Generator.

    Returns:
      List of batches, shuffled, and the windows left over, fewer than
      batch_size.
    """
    batches, rest = [], []
    for bucket in np.unique(self._buckets[pool]):
      group = pool[self._buckets[pool] == bucket]
      full = len(group) - len(group) % self._batch_size
      batches += list(group[:full].reshape(-1, self._batch_size))
      rest.append(group[full:])
    # The rests of all buckets make batches of their own. Which of them wait
    # for the next epoch is a matter of chance, or it would be the longest.
    rest = rng.permutation(np.concatenate(rest))
    num_waiting = len(rest) % self._batch_size
    waiting, rest = rest[:num_waiting], rest[num_waiting:]
    rest = rest[np.argsort(self._buckets[rest], kind="stable")]
    batches += list(rest.reshape(-1, self._batch_size))
    return [batches[i] for i in rng.permutation(len(batches))], waiting
