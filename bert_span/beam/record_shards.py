"""What a worker does for one shard of TFRecords, for either kind of training.

Work is told in a frozen dataclass that can be sent to workers; `make(shard)`
writes one shard, whole or not at all, and `is_done(shard)` says whether one
stands there already.
"""

import dataclasses
import functools
import os

import numpy as np
import tensorflow as tf

from bert_span.data import training_records
from bert_span.data.labelled_windows import Skipped, label_windows
from bert_span.data.window_labels import WindowLabels
from bert_span.data.window_records import write_window_records
from bert_span.pretraining.corpus.records import masked_copies, write_records
from bert_span.squad.reader import read_squad
from bert_span.squad.rules import training_examples
from bert_span.storage.atomic_file import write_json_atomically
from bert_span.storage.files import read_json
from bert_span.text.preprocessor import SpanPreprocessor

# Windows are numbered from shard * this: no shard may hold more.
_WINDOWS_OF_A_SHARD = 1_000_000


@dataclasses.dataclass(frozen=True)
class SquadRecordShards:
  """Training windows of a SQuAD file, a slice of its questions a shard.

  Attributes:
    directory: folder of the records, which every worker sees.
    count: shards.
    train_file: SQuAD JSON file, which every worker sees.
    version_2: --version_2_with_negative.
    labels: `WindowLabels` of the head.
    vocabulary: tuple of tokens.
    do_lower_case: see `SpanPreprocessor`.
    window_options: `WindowOptions`.
    annotator_labels: see `tag_labels`.
    drop_answerless: see `label_windows`.
    padded_length: WordPieces that every record gets; None adds no padding.
  """

  directory: str
  count: int
  train_file: str
  version_2: bool
  labels: WindowLabels
  vocabulary: tuple
  do_lower_case: bool
  window_options: object
  annotator_labels: str
  drop_answerless: bool
  padded_length: int | None = None

  def is_done(self, shard):
    """Whether a shard, and the note of what is in it, stand there."""
    return tf.io.gfile.exists(self._note_path(shard))

  def make(self, shard):
    """Writes the records of a shard, then the note of what is in it.

    Args:
      shard: its number, from 0.

    Returns:
      Number of records.
    """
    tf.io.gfile.makedirs(self.directory)
    examples = _training_examples(
      self.train_file, self.version_2, self.labels.every_annotator
    )
    slices = np.array_split(np.arange(len(examples)), self.count)
    own = [examples[i] for i in slices[shard]]
    training_set = label_windows(
      own,
      self.preprocessor(),
      self.labels,
      self.annotator_labels,
      self.drop_answerless,
      may_be_empty=True,
    )
    if len(training_set.windows) > _WINDOWS_OF_A_SHARD:
      raise ValueError(
        f"A shard has {len(training_set.windows)} windows, more than "
        f"{_WINDOWS_OF_A_SHARD}. Raise --num_shards above {self.count}."
      )
    (count,) = write_window_records(
      [self._path(shard)],
      training_set.windows,
      self.padded_length,
      first_window=shard * _WINDOWS_OF_A_SHARD,
    )
    write_json_atomically(
      self._note_path(shard),
      {"records": count, "left_out": training_set.skipped._asdict()},
    )
    return count

  def check(self):
    """Reads the questions once, so that what is wrong is told before the work.

    Returns:
      List of str, what was noticed about them.

    Raises:
      ValueError: they cannot be trained on, or are fewer than the shards.
    """
    squad_file = read_squad(self.train_file)
    examples = training_examples(
      squad_file,
      self.version_2,
      every_annotator=self.labels.every_annotator,
    )
    if len(examples) < self.count:
      raise ValueError(
        f"{self.train_file} has {len(examples)} questions to train on, fewer "
        f"than shards. Lower --num_shards from {self.count}."
      )
    return list(squad_file.report.lines())

  def finish(self):
    """Writes the manifest of all shards, which makes them a set.

    Returns:
      Path of the manifest, and `Skipped` of all shards.

    Raises:
      ValueError: there is no window to train on.
    """
    notes = [self._note(shard) for shard in range(self.count)]
    counts = [note["records"] for note in notes]
    if not sum(counts):
      raise ValueError(
        f"{self.train_file} gives no window to train on: its passages are "
        "empty, or hold no answer."
      )
    skipped = Skipped(
      sum(note["left_out"]["num_without_answer"] for note in notes),
      [i for note in notes for i in note["left_out"]["without_token"]],
    )
    examples = _training_examples(
      self.train_file, self.version_2, self.labels.every_annotator
    )
    path = training_records.write_manifest(
      self.directory,
      [os.path.basename(self._path(shard)) for shard in range(self.count)],
      counts,
      self._fingerprint,
      self._source,
      self.padded_length,
      len(examples),
      skipped,
    )
    for shard in range(self.count):
      tf.io.gfile.remove(self._note_path(shard))
    return path, skipped

  def preprocessor(self):
    """The `SpanPreprocessor` of these windows."""
    return SpanPreprocessor(
      list(self.vocabulary), self.do_lower_case, self.window_options
    )

  @functools.cached_property
  def _fingerprint(self):
    return training_records.window_fingerprint(
      self.preprocessor(),
      self.labels,
      self.version_2,
      self.annotator_labels,
      self.drop_answerless,
    )

  @functools.cached_property
  def _source(self):
    return training_records.source_fingerprint(self.train_file, None)

  @functools.cached_property
  def _names(self):
    made_of = {
      **self._fingerprint,
      **self._source,
      "padded_length": self.padded_length,
      # Not the shards of create_squad_records, which deals windows.
      "dealt": "questions",
    }
    return training_records.shard_names(made_of, self.count)

  def _path(self, shard):
    return os.path.join(self.directory, self._names[shard])

  def _note_path(self, shard):
    return f"{self._path(shard)}.json"

  def _note(self, shard):
    return read_json(self._note_path(shard))


@functools.lru_cache(maxsize=1)
def _training_examples(train_file, version_2, every_annotator):
  """Read once a worker process."""
  return training_examples(
    read_squad(train_file), version_2, every_annotator=every_annotator
  )


@dataclasses.dataclass(frozen=True)
class PretrainingRecordShards:
  """Masked text, a share of its files a shard.

  A shard holds what create_pretraining_data writes as one of so many workers.

  Attributes:
    directory: folder of the records, which every worker sees.
    count: shards; there must be as many files of text at least.
    sources: tuple of `TextFile`, which every worker sees.
    vocabulary: tuple of tokens.
    do_lower_case: see `WordPieceTokenizer`.
    max_seq_length: WordPieces of a sequence.
    options: `MaskingOptions` with max_predictions.
    copies: of the text, each masked anew.
  """

  directory: str
  count: int
  sources: tuple
  vocabulary: tuple
  do_lower_case: bool
  max_seq_length: int
  options: object
  copies: int

  def is_done(self, shard):
    """Whether a shard stands there."""
    return tf.io.gfile.exists(self.path(shard))

  def make(self, shard):
    """Writes the records of a shard.

    Args:
      shard: its number, from 0.

    Returns:
      Number of records.
    """
    tf.io.gfile.makedirs(self.directory)
    sequences = masked_copies(
      list(self.sources),
      list(self.vocabulary),
      self.do_lower_case,
      self.max_seq_length,
      self.options,
      self.copies,
      self.count,
      shard,
    )
    return write_records(
      [self.path(shard)], sequences, self.max_seq_length, self.options
    )

  def path(self, shard):
    """Path of a shard."""
    name = f"masked-{shard:05d}-of-{self.count:05d}.tfrecord"
    return os.path.join(self.directory, name)
