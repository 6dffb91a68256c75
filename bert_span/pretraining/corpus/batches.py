"""Batches of masked sequences out of text.

The training batches are a pure function of seed and step: the blocks of a
stream are shuffled within chunks of some thousand and masked anew every epoch,
and the batch of step s holds the blocks s * batch_size to
(s + 1) * batch_size - 1 of the shuffled stream.
"""

import concurrent.futures
import itertools
import threading

import numpy as np
import tensorflow as tf

from bert_span.pretraining.corpus.block_stream import ChunkPlace, ChunkPlaces
from bert_span.pretraining.masking.masked_arrays import (
  KEYS,
  masked_arrays,
  row_lengths,
)


class TextBatches:
  """An endless stream of training batches out of text.

  Args:
    stream: `BlockStream`.
    masker: `SequenceMasker`; the order of the blocks follows from its seed.
    batch_size: sequences in a batch.
    places: `ChunkPlaces`, so that a later run finds its blocks at once; None
      stores none.

  Attributes:
    failure: the exception that ended the reading of text, which TensorFlow
      hides; None if there is none.
  """

  def __init__(self, stream, masker, batch_size, places=None):
    self.failure = None
    self._stream = stream
    self._masker = masker
    self._batch_size = batch_size
    self._places = places or ChunkPlaces(None, None)
    self._lock = threading.Lock()
    # The next chunk is read while the model trains on this one.
    self._executor = concurrent.futures.ThreadPoolExecutor(max_workers=1)
    self._chunks = self._chunk = self._order = self._next = None

  def dataset(self, first_step):
    """The batches from one step on, an endless tf.data.Dataset.

    Its elements are the dicts of `masked_arrays`, as tensors.
    """
    lengths = row_lengths(
      self._stream.max_seq_length, self._masker.options.max_predictions
    )

    # Not Dataset.from_generator: see length_buckets.py.
    def batch_of(step):
      values = tf.numpy_function(
        self._batch_arrays, [step], [tf.int32] * len(KEYS)
      )
      batch = dict(zip(KEYS, values, strict=True))
      for key, value in batch.items():
        value.set_shape([self._batch_size, lengths[key]])
      return batch

    dataset = tf.data.Dataset.counter(start=first_step, dtype=tf.int64)
    return dataset.map(batch_of).prefetch(8)

  def _batch_arrays(self, step):
    """The arrays of a batch, in the order of KEYS."""
    try:
      first = int(step) * self._batch_size
      with self._lock:  # Several iterators may run.
        rows = [self._row(first + row) for row in range(self._batch_size)]
      batch = masked_arrays(
        [self._masker(ids, epoch, number) for ids, epoch, number in rows],
        self._stream.max_seq_length,
        self._masker.options,
      )
      return [batch[key] for key in KEYS]
    except Exception as error:
      self.failure = error
      raise

  def _row(self, stream_block):
    """A block of the shuffled stream, its epoch and its number in it."""
    if self._chunk is None or stream_block < self._chunk.place.stream_block:
      # The first iterator, or another one that starts again.
      place = self._places.last_before(stream_block)
      self._chunks = self._stream.chunks(place)
      self._next = self._executor.submit(next, self._chunks)
      self._advance()
    while stream_block >= (
      self._chunk.place.stream_block + len(self._chunk.blocks)
    ):
      self._advance()
    place = self._chunk.place
    index = int(self._order[stream_block - place.stream_block])
    return self._chunk.blocks[index], place.epoch, place.block + index

  def _advance(self):
    self._chunk = self._next.result()
    self._next = self._executor.submit(next, self._chunks)
    place = self._chunk.place
    self._places.note(place)
    seed = [self._masker.options.seed, place.epoch, place.block]
    rng = np.random.default_rng(seed)
    self._order = rng.permutation(len(self._chunk.blocks))


def masked_sequences(stream, masker, epoch=0):
  """Yields the `MaskedSequence`s of one epoch, in the order of the stream."""
  for chunk in stream.epoch_chunks(ChunkPlace(epoch=epoch)):
    for number, ids in enumerate(chunk.blocks, chunk.place.block):
      yield masker(ids, epoch, number)


def evaluation_batches(stream, masker, batch_size):
  """Yields the `masked_arrays` of one epoch of held-out text, with fixed masks.

  The stream has no seed, so that the text keeps its order. The last batch may
  be smaller.
  """
  sequences = masked_sequences(stream, masker)
  while rows := list(itertools.islice(sequences, batch_size)):
    yield masked_arrays(rows, stream.max_seq_length, masker.options)
