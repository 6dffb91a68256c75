"""Makes batches of masked sequences of text or records.

The training batches are a pure function of seed and step: the blocks of a
stream are shuffled within chunks of some thousand and masked anew every epoch.
The batch of step s begins at block s * batch_size of the shuffled stream.
"""

import concurrent.futures
import dataclasses
import functools
import itertools
import os
import threading

import numpy as np
import tensorflow as tf

from bert_span.presets.vocabulary_files import load_vocabulary
from bert_span.pretraining import masking
from bert_span.pretraining.block_stream import (
  BlockPlace,
  BlockStream,
  ChunkPlaces,
)
from bert_span.pretraining.options import MaskingOptions
from bert_span.pretraining.records import RecordBatches
from bert_span.pretraining.text_sources import (
  TextFile,
  find_sources,
  sources_of_worker,
)
from bert_span.storage.record_files import is_record_file
from bert_span.text.tokenizer import WordPieceTokenizer
from bert_span.text.vocabulary import check_vocabulary, vocabulary_sha256


@dataclasses.dataclass(frozen=True)
class PretrainingInput:
  """Makes masked sequences of text, and arrays and batches of these."""

  vocabulary: list
  lower_case: bool
  max_seq_length: int  # WordPieces, [CLS] and [SEP] included
  masking: MaskingOptions  # with max_predictions
  chunk_blocks: int = 8192  # blocks that are shuffled together

  def __post_init__(self):
    check_vocabulary(self.vocabulary)

  @functools.cached_property
  def mask(self):
    """The function of (token_ids, epoch, number) to a `MaskedSequence`."""
    return masking.SequenceMasker(self.vocabulary, self.masking)

  @property
  def row_lengths(self):
    """WordPieces or targets in a row of each array of a batch."""
    targets = dict.fromkeys(masking.TARGET_KEYS, self.masking.max_predictions)
    return dict.fromkeys(masking.SEQUENCE_KEYS, self.max_seq_length) | targets

  def arrays(self, sequences):
    """Returns a batch of `MaskedSequence`s: int32 [batch, row length]."""
    return masking.masked_arrays(sequences, self.row_lengths)

  def stream(self, sources, seed=None):
    tokenizer = WordPieceTokenizer(self.vocabulary, self.lower_case)
    return BlockStream(
      sources, tokenizer, self.max_seq_length, seed, self.chunk_blocks
    )

  def sequences(self, sources, epoch=0):
    """Yields the `MaskedSequence`s of an epoch, in the order of the text."""
    if are_records(sources):
      raise ValueError(
        f"{sources[0].path} has masked text (records). Give files of text."
      )
    blocks = self.stream(sources).epoch_blocks(BlockPlace(epoch=epoch))
    for place, ids in blocks:
      yield self.mask(ids, epoch, place.block)

  def copies(self, sources, count, num_workers=1, worker=0):
    """Yields a worker's sequences; `sources` are those of all workers."""
    worker_sources = sources_of_worker(sources, num_workers, worker)
    for epoch in range(worker, count * num_workers, num_workers):
      # Each copy and each worker draws different masks.
      yield from self.sequences(worker_sources, epoch)

  def training_batches(self, sources, batch_size, places_path=None):
    """Makes endless batches; places_path is the path of `ChunkPlaces`."""
    if are_records(sources):
      return RecordBatches(self, sources, batch_size)
    places = ChunkPlaces(places_path, self.fingerprint(sources))
    return TextBatches(self, sources, batch_size, places)

  def evaluation_batches(self, sources, batch_size):
    """Yields the batches of one epoch, in order, with masks by the seed."""
    if are_records(sources):
      yield from RecordBatches(self, sources, batch_size).evaluation_batches()
      return
    sequences = self.sequences(sources)
    while rows := list(itertools.islice(sequences, batch_size)):
      yield self.arrays(rows)

  def tokens_fingerprint(self):
    """Returns the JSON values on which ids depend."""
    return {
      "do_lower_case": self.lower_case,
      "vocabulary": vocabulary_sha256(self.vocabulary),
    }

  def fingerprint(self, sources):
    return {
      "max_seq_length": self.max_seq_length,
      "masking": dataclasses.asdict(self.masking),
      **self.tokens_fingerprint(),
      "input": list(map(_identity, sources)),
    }


def open_text(options):
  """Returns the `PretrainingInput` and the sources of `MaskedTextOptions`."""
  pretraining_input = PretrainingInput(
    load_vocabulary(options.vocab_file),
    options.do_lower_case,
    options.max_seq_length,
    options.masking_options(),
  )
  return pretraining_input, find_sources(options)


def are_records(sources):
  """Returns whether sources are masked text; refuses a mixture."""
  records = {is_record_file(source.path) for source in sources}
  if len(records) > 1:
    raise ValueError(
      "Text files and record files (.tfrecord) cannot be mixed. Give either."
    )
  return records == {True}


def _identity(source):
  """Returns a source's name and size in bytes; its folder may move."""
  if isinstance(source, TextFile):
    size = tf.io.gfile.stat(source.path).length
    return [os.path.basename(source.path), size]
  return [source.path, None]


class TextBatches:
  """An endless stream of a `PretrainingInput`'s training batches."""

  def __init__(self, pretraining_input, sources, batch_size, places):
    self._input = pretraining_input
    self._seed = pretraining_input.masking.seed
    self._stream = pretraining_input.stream(sources, self._seed)
    self._batch_size = batch_size
    self._places = places
    self._failure = None
    self._lock = threading.Lock()
    # It reads the next chunk while the model trains on this one.
    self._executor = concurrent.futures.ThreadPoolExecutor(max_workers=1)
    self._blocks = self._next_step = None

  def dataset(self, first_step):
    """Returns endless batches of `PretrainingInput.arrays` from a step on."""
    lengths = self._input.row_lengths

    # length_buckets.py explains why this is no Dataset.from_generator.
    @tf.autograph.experimental.do_not_convert
    def batch_of(step):
      values = tf.numpy_function(
        self._batch_arrays, [step], [tf.int32] * len(lengths)
      )
      return {
        key: tf.ensure_shape(value, [self._batch_size, length])
        for (key, length), value in zip(lengths.items(), values, strict=True)
      }

    dataset = tf.data.Dataset.counter(start=first_step, dtype=tf.int64)
    return dataset.map(batch_of).prefetch(8)

  def cause_of(self, error):
    return self._failure or error

  def _batch_arrays(self, step):
    """Returns the arrays of a batch, in the order of `row_lengths`."""
    try:
      with self._lock:  # Several iterators may run.
        if step != self._next_step:  # A new iterator has begun.
          self._blocks = self._blocks_from(int(step) * self._batch_size)
        self._next_step = step + 1
        blocks = list(itertools.islice(self._blocks, self._batch_size))
      sequences = [
        self._input.mask(ids, place.epoch, place.block) for place, ids in blocks
      ]
      return list(self._input.arrays(sequences).values())
    except Exception as error:
      self._failure = error
      raise

  def _blocks_from(self, first):
    """Yields the blocks of the shuffled stream from a number on."""
    chunks = self._stream.chunks(self._places.last_before(first))
    next_chunk = self._executor.submit(next, chunks)
    while True:
      chunk = next_chunk.result()
      next_chunk = self._executor.submit(next, chunks)
      place, _ = chunk[0]
      self._places.note(place)
      seed = [self._seed, place.epoch, place.block]
      order = np.random.default_rng(seed).permutation(len(chunk))
      for index in order[max(0, first - place.stream_block) :].tolist():
        yield chunk[index]
