"""Batches of masked sequences out of text or records.

The training batches are a pure function of seed and step: the blocks of a
stream are shuffled within chunks of some thousand and masked anew every epoch,
and the batch of step s holds the blocks s * batch_size to
(s + 1) * batch_size - 1 of the shuffled stream.
"""

import concurrent.futures
import dataclasses
import itertools
import threading

import numpy as np
import tensorflow as tf

from bert_span.pretraining.block_stream import (
  BlockStream,
  ChunkPlace,
  ChunkPlaces,
)
from bert_span.pretraining.masking import (
  KEYS,
  SequenceMasker,
  masked_arrays,
  row_lengths,
)
from bert_span.pretraining.options import MaskingOptions
from bert_span.pretraining.records import RecordBatches
from bert_span.storage.record_files import is_record_file
from bert_span.text.tokenizer import WordPieceTokenizer
from bert_span.text.vocabulary import vocabulary_sha256


@dataclasses.dataclass(frozen=True)
class PretrainingInput:
  """How text becomes masked sequences, and these become batches."""

  vocabulary: list
  lower_case: bool
  max_seq_length: int  # WordPieces, [CLS] and [SEP] included
  masking: MaskingOptions  # with max_predictions

  def sequences(self, sources, epoch=0):
    """See `masked_sequences`."""
    if are_records(sources):
      raise ValueError(
        f"{sources[0].path} is named as a file of records, which hold masked "
        "text. Give files of text."
      )
    masker = SequenceMasker(self.vocabulary, self.masking)
    return masked_sequences(self._stream(sources), masker, epoch)

  def training_batches(self, sources, batch_size, places_path=None):
    """Endless batches, shuffled and masked anew every epoch.

    Args:
      sources: list of `find_sources`, of text or records.
      batch_size: sequences in a batch.
      places_path: file of `ChunkPlaces`; None for none.
    """
    if are_records(sources):
      return self._record_batches(sources, batch_size)
    return TextBatches(
      self._stream(sources, self.masking.seed),
      SequenceMasker(self.vocabulary, self.masking),
      batch_size,
      ChunkPlaces(places_path, self.fingerprint(sources)),
    )

  def evaluation_batches(self, sources, batch_size):
    """Yields the batches of one epoch, in order, with fixed masks.

    The last batch may be smaller.
    """
    if are_records(sources):
      yield from self._record_batches(sources, batch_size).evaluation_batches()
      return
    sequences = self.sequences(sources)
    while rows := list(itertools.islice(sequences, batch_size)):
      yield masked_arrays(rows, self.max_seq_length, self.masking)

  def fingerprint(self, sources):
    """A dict of the JSON values that the batches depend on."""
    return {
      "max_seq_length": self.max_seq_length,
      "masking": dataclasses.asdict(self.masking),
      "do_lower_case": self.lower_case,
      "vocabulary": vocabulary_sha256(self.vocabulary),
      "input": [[source.path, _size(source.path)] for source in sources],
    }

  def _stream(self, sources, seed=None):
    tokenizer = WordPieceTokenizer(self.vocabulary, self.lower_case)
    return BlockStream(sources, tokenizer, self.max_seq_length, seed)

  def _record_batches(self, sources, batch_size):
    return RecordBatches(
      [source.path for source in sources],
      batch_size,
      self.max_seq_length,
      self.masking,
    )


def masked_sequences(stream, masker, epoch=0):
  """Yields the `MaskedSequence`s of one epoch, in the order of the stream."""
  for chunk in stream.epoch_chunks(ChunkPlace(epoch=epoch)):
    for number, ids in enumerate(chunk.blocks, chunk.place.block):
      yield masker(ids, epoch, number)


def are_records(sources):
  """Whether sources hold masked text; raises ValueError if only some do."""
  records = [is_record_file(source.path) for source in sources]
  if any(records) and not all(records):
    raise ValueError(
      "Text files and record files (.tfrecord) cannot be mixed: give either."
    )
  return all(records)


def _size(path):
  """Bytes of a file; None for a shard of a data set."""
  return tf.io.gfile.stat(path).length if tf.io.gfile.exists(path) else None


class TextBatches:
  """An endless stream of training batches out of text.

  Args:
    stream: `BlockStream`.
    masker: `SequenceMasker`; the order of the blocks follows from its seed.
    batch_size: sequences in a batch.
    places: `ChunkPlaces`, so that a later run finds its blocks at once; None
      stores none.
  """

  def __init__(self, stream, masker, batch_size, places=None):
    self._failure = None
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

  def cause_of(self, error):
    """The exception of the reading of text that TensorFlow's error hides."""
    return self._failure or error

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
      self._failure = error
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
