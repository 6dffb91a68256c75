"""Batches for pre-training, from running text or from masked records."""

import dataclasses

import tensorflow as tf

from bert_span.pretraining.corpus.batches import (
  TextBatches,
  evaluation_batches,
)
from bert_span.pretraining.corpus.block_stream import BlockStream, ChunkPlaces
from bert_span.pretraining.corpus.records import RecordBatches
from bert_span.pretraining.masking.masked_sequence import SequenceMasker
from bert_span.pretraining.options import MaskingOptions
from bert_span.text.tokenizer import WordPieceTokenizer
from bert_span.text.vocabulary import vocabulary_sha256


@dataclasses.dataclass(frozen=True)
class TextInput:
  """The input of a run.

  Attributes:
    sources: list of `TextFile` or `TfdsShard`, or of paths of record files.
    are_records: whether they are paths of records.
  """

  sources: list
  are_records: bool = False


@dataclasses.dataclass(frozen=True)
class PretrainingInput:
  """Makes batches of masked sequences.

  Attributes:
    vocabulary: sequence of str.
    lower_case: whether the tokenizer lower-cases.
    max_seq_length: WordPieces in a sequence, [CLS] and [SEP] included.
    masking: `MaskingOptions` with max_predictions.
  """

  vocabulary: list
  lower_case: bool
  max_seq_length: int
  masking: MaskingOptions

  def training_batches(self, text, batch_size, places_path=None):
    """Endless batches, shuffled and masked anew every epoch.

    Args:
      text: `TextInput`.
      batch_size: sequences in a batch.
      places_path: file of `ChunkPlaces`; None for none.
    """
    if text.are_records:
      return self._record_batches(text, batch_size)
    return TextBatches(
      self._stream(text, self.masking.seed),
      SequenceMasker(self.vocabulary, self.masking),
      batch_size,
      ChunkPlaces(places_path, self.fingerprint(text)),
    )

  def evaluation_batches(self, text, batch_size):
    """An iterable of the batches of one epoch, in order, with fixed masks."""
    if text.are_records:
      return self._record_batches(text, batch_size).evaluation_dataset()
    return evaluation_batches(
      self._stream(text, None),
      SequenceMasker(self.vocabulary, self.masking),
      batch_size,
    )

  def fingerprint(self, text):
    """A dict of the JSON values that the batches depend on."""
    paths = [getattr(source, "path", source) for source in text.sources]
    return {
      "max_seq_length": self.max_seq_length,
      "masking": dataclasses.asdict(self.masking),
      "do_lower_case": self.lower_case,
      "vocabulary": vocabulary_sha256(self.vocabulary),
      "input": [[path, _size(path)] for path in paths],
    }

  def _record_batches(self, text, batch_size):
    return RecordBatches(
      text.sources,
      batch_size,
      self.max_seq_length,
      self.masking.max_predictions,
      self.masking.seed,
    )

  def _stream(self, text, seed):
    tokenizer = WordPieceTokenizer(self.vocabulary, self.lower_case)
    return BlockStream(text.sources, tokenizer, self.max_seq_length, seed)


def _size(path):
  """Bytes of a file; None for a shard of a data set."""
  return tf.io.gfile.stat(path).length if tf.io.gfile.exists(path) else None
