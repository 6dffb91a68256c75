"""Batches of masked sequences, a pure function of seed and step.

The blocks of a stream are shuffled within chunks of some thousand, masked anew
every epoch, and dealt in order: the batch of step s holds the blocks
s * batch_size to (s + 1) * batch_size - 1 of the shuffled stream.
"""

import concurrent.futures
import itertools
import threading

import numpy as np
import tensorflow as tf

from bert_span.pretraining.corpus.block_stream import ChunkPlace, ChunkPlaces
from bert_span.pretraining.masking.prediction_targets import prediction_targets

# What a batch holds: rank-2 arrays [batch, seq_length] or [batch, targets].
SEQUENCE_KEYS = ("input_ids", "input_mask")
TARGET_KEYS = (
  "masked_positions",
  "masked_ids",
  "sbo_lefts",
  "sbo_rights",
  "sbo_positions",
)
KEYS = (*SEQUENCE_KEYS, *TARGET_KEYS)


def masked_arrays(sequences, max_seq_length, max_predictions, boundary_targets):
  """Lays masked sequences out as arrays, padded with zeros.

  Args:
    sequences: list of `MaskedSequence`.
    max_seq_length: WordPieces that every row gets.
    max_predictions: targets that every row gets; no sequence has more.
    boundary_targets: tokens of a span that its boundaries predict.

  Returns:
    Dict of int32 arrays: input_ids, input_mask [batch, max_seq_length];
    masked_positions, masked_ids, sbo_lefts, sbo_rights, sbo_positions [batch,
    max_predictions]. Padding has masked_positions 0, where [CLS] stands;
    sbo_positions is 0 for what the span boundary objective leaves out.
  """
  num_rows = len(sequences)
  batch = {
    key: np.zeros((num_rows, max_seq_length), np.int32) for key in SEQUENCE_KEYS
  }
  batch |= {
    key: np.zeros((num_rows, max_predictions), np.int32) for key in TARGET_KEYS
  }
  for row, masked in enumerate(sequences):
    length = len(masked.input_ids)
    batch["input_ids"][row, :length] = masked.input_ids
    batch["input_mask"][row, :length] = 1
    targets = prediction_targets(masked, boundary_targets)
    for key, values in zip(TARGET_KEYS, targets, strict=True):
      batch[key][row, : len(values)] = values
  return batch


def with_weights(batch):
  """Adds the weights of the targets: 1, and 0 for padding.

  Args:
    batch: dict of tensors, see `masked_arrays`.

  Returns:
    The dict with mlm_weights and sbo_weights, float32 [batch, targets].
  """
  return {
    **batch,
    "mlm_weights": tf.cast(batch["masked_positions"] > 0, tf.float32),
    "sbo_weights": tf.cast(batch["sbo_positions"] > 0, tf.float32),
  }


class TextBatches:
  """An endless stream of training batches out of text.

  Args:
    stream: `BlockStream`.
    masker: `SequenceMasker`.
    batch_size: sequences in a batch.
    max_seq_length: WordPieces in a sequence.
    max_predictions: masked tokens in a sequence, at most.
    seed: of the shuffling.
    places: `ChunkPlaces`, so that a later run finds its blocks at once; None
      notes none.
  """

  def __init__(
    self,
    stream,
    masker,
    batch_size,
    max_seq_length,
    max_predictions,
    seed,
    places=None,
  ):
    self._stream = stream
    self._masker = masker
    self._batch_size = batch_size
    self._max_seq_length = max_seq_length
    self._max_predictions = max_predictions
    self._seed = seed
    self._places = places or ChunkPlaces(None, None)
    self._lock = threading.Lock()
    # The next chunk is read while the model trains on this one.
    self._executor = concurrent.futures.ThreadPoolExecutor(max_workers=1)
    self._chunks = self._chunk = self._order = self._next = None
    self._failure = None

  def dataset(self, first_step):
    """The batches from one step on.

    Args:
      first_step: number of the first batch, counted from 0.

    Returns:
      Endless tf.data.Dataset of the dicts of `masked_arrays`, as tensors.
    """

    # Not Dataset.from_generator: see length_buckets.py.
    def batch_of(step):
      values = tf.numpy_function(
        self._batch_arrays, [step], [tf.int32] * len(KEYS)
      )
      batch = dict(zip(KEYS, values, strict=True))
      for key, value in batch.items():
        is_sequence = key in SEQUENCE_KEYS
        width = self._max_seq_length if is_sequence else self._max_predictions
        value.set_shape([self._batch_size, width])
      return batch

    dataset = tf.data.Dataset.counter(start=first_step, dtype=tf.int64)
    return dataset.map(batch_of).prefetch(8)

  @property
  def failure(self):
    """What ended the reading of text, which TensorFlow hides; else None."""
    return self._failure

  def _batch_arrays(self, step):
    """The arrays of a batch, in the order of KEYS."""
    try:
      return self._make_batch(int(step) * self._batch_size)
    except Exception as error:
      self._failure = error
      raise

  def _make_batch(self, first):
    """The arrays of the batch that begins with a block of the stream."""
    with self._lock:  # several iterators may run
      rows = [self._row(first + row) for row in range(self._batch_size)]
    sequences = [
      self._masker(ids, epoch, number) for ids, epoch, number in rows
    ]
    batch = masked_arrays(
      sequences,
      self._max_seq_length,
      self._max_predictions,
      self._masker.options.max_boundary_targets,
    )
    return [batch[key] for key in KEYS]

  def _row(self, stream_block):
    """A block of the shuffled stream, its epoch and its number in it."""
    place = self._find_chunk(stream_block)
    index = int(self._order[stream_block - place.stream_block])
    return self._chunk.blocks[index], place.epoch, place.block + index

  def _find_chunk(self, stream_block):
    """Reads on to the chunk with a block; returns the chunk's place."""
    is_behind = self._chunk is None or (
      stream_block < self._chunk.place.stream_block
    )
    if is_behind:  # Another iterator has begun.
      self._rewind(self._places.last_before(stream_block))
    while stream_block >= (
      self._chunk.place.stream_block + len(self._chunk.blocks)
    ):
      self._advance()
    return self._chunk.place

  def _rewind(self, place):
    self._chunks = self._stream.chunks(place)
    self._next = self._executor.submit(next, self._chunks)
    self._advance()

  def _advance(self):
    self._chunk = self._next.result()
    self._next = self._executor.submit(next, self._chunks)
    place = self._chunk.place
    self._places.note(place)
    rng = np.random.default_rng([self._seed, place.epoch, place.block])
    self._order = rng.permutation(len(self._chunk.blocks))


def masked_sequences(stream, masker, epoch=0):
  """Masks the text of a stream once, in its order.

  Args:
    stream: `BlockStream`; one without a seed keeps the order of the sources.
    masker: `SequenceMasker`.
    epoch: number of the epoch whose masks are drawn.

  Yields:
    `MaskedSequence`.
  """
  for chunk in stream.epoch_chunks(ChunkPlace(epoch=epoch)):
    for number, ids in enumerate(chunk.blocks, chunk.place.block):
      yield masker(ids, epoch, number)


class EvaluationBatches:
  """The batches of held-out text: one epoch, in order, with fixed masks.

  Args:
    stream: `BlockStream` without a seed.
    masker: `SequenceMasker`.
    batch_size: sequences in a batch; the last may have fewer.
    max_seq_length: WordPieces in a sequence.
    max_predictions: masked tokens in a sequence, at most.
  """

  def __init__(
    self, stream, masker, batch_size, max_seq_length, max_predictions
  ):
    self._stream = stream
    self._masker = masker
    self._batch_size = batch_size
    self._lengths = (max_seq_length, max_predictions)

  def __iter__(self):
    """Yields the dicts of `masked_arrays`."""
    sequences = masked_sequences(self._stream, self._masker)
    while rows := list(itertools.islice(sequences, self._batch_size)):
      yield masked_arrays(
        rows, *self._lengths, self._masker.options.max_boundary_targets
      )
