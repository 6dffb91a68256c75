"""The shards of a Beam run, such as answers-00003-of-00016.jsonl.

A shard has a row for each question, in JSON lines or Parquet:

  id, answer, char_start, char_end, score, probability, null_odds,
  question_truncated
  n_best   span head with n_best above 1: objects of text, char_start,
           char_end, score, probability, best first
  spans    B/I/O head: the same objects, in order of position

"No answer" is "" with null offsets. `AnswerColumns.answer_row` makes the rows.
"""

import dataclasses
import hashlib
import json
import os
import re

import tensorflow as tf

from bert_span.answers.columns import SPAN_COLUMNS
from bert_span.options.fields import RUN_FORMAT, check_same_options
from bert_span.storage.atomic_file import (
  open_atomically,
  write_json_atomically,
  write_lines,
)
from bert_span.storage.files import (
  encodable,
  file_sha256,
  make_folder,
  read_json_object,
)


@dataclasses.dataclass(frozen=True)
class AnswerShards:
  """The shards of a run. A shard is done if its file of answers exists."""

  directory: str  # local or any path of tf.io.gfile
  count: int
  format: str = "jsonl"  # of the answers, or "parquet"

  def shard_of(self, record):
    """Returns the shard of a `LocatedQuestion` or `BadRecord`, by its id."""
    location = record.location
    qas_id = getattr(record, "example", record).qas_id
    text = qas_id or f"{location.path}\0{location.number}"
    # Python's hash differs from process to process.
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") % self.count

  def done(self):
    """Returns the numbers of the shards that are done, a set."""
    return self._numbers("answers", self.format)

  def num_dead_letters(self):
    """Returns the number of dead letters in the shards that are done."""
    total = 0
    for shard in self.done() & self._numbers("dead_letters", "jsonl"):
      with tf.io.gfile.GFile(
        self._path("dead_letters", shard, "jsonl")
      ) as file:
        total += sum(1 for _ in file)
    return total

  def write(self, shard, rows, dead_letters):
    """Writes rows of `answer_row` and `BadRecord`s, so that a shard is done."""
    make_folder(self.directory)
    letters = self._path("dead_letters", shard, "jsonl")
    letter_rows = [
      {
        "file": record.location.path,
        "record": record.location.number,
        "id": record.qas_id or None,
        "reason": record.reason,
        "content": record.content,
      }
      for record in dead_letters
    ]
    if letter_rows:
      write_lines(letters, map(json.dumps, letter_rows))
    elif tf.io.gfile.exists(letters):  # from an attempt that failed
      tf.io.gfile.remove(letters)
    # This file marks the shard as done, so it is the last one.
    answers = self._path("answers", shard, self.format)
    if self.format == "jsonl":
      write_lines(answers, map(json.dumps, rows))
    else:
      _write_parquet(answers, rows)

  def _numbers(self, prefix, ending):
    # Not a glob: the folder's name may have its special characters.
    if not tf.io.gfile.isdir(self.directory):
      return set()
    pattern = rf"{prefix}-(\d{{5}})-of-{self.count:05d}\.{ending}"
    names = tf.io.gfile.listdir(self.directory)
    matches = (re.fullmatch(pattern, name) for name in names)
    return {int(match.group(1)) for match in matches if match}

  def _path(self, prefix, shard, ending):
    name = f"{prefix}-{shard:05d}-of-{self.count:05d}.{ending}"
    return os.path.join(self.directory, name)


def _write_parquet(path, rows):
  import pyarrow as pa  # comes with Beam, an extra
  from pyarrow import parquet

  # Scores are float64 in predictions.
  types = {"float32": pa.float64(), "bool": pa.bool_()}
  types |= {name: pa.type_for_alias(name) for name in ("string", "int32")}
  # The schema does not depend on the rows: both heads have the same columns.
  in_answer, in_entry = SPAN_COLUMNS.row_columns
  entries = pa.list_(pa.struct([(c.field, types[c.dtype]) for c in in_entry]))
  schema = pa.schema(
    [
      ("id", pa.string()),
      *((c.name, types[c.dtype]) for c in in_answer),
      ("n_best", entries),
      ("spans", entries),
    ]
  )
  # JSON can hold lone surrogates, Parquet cannot.
  text = encodable(json.dumps(rows, ensure_ascii=False))
  table = pa.Table.from_pylist(json.loads(text), schema)
  with open_atomically(path, binary=True) as file:
    parquet.write_table(table, file)


def start_or_continue(directory, options):
  """Writes a run's options; ValueError if it was started with other ones."""
  path = os.path.join(directory, "job.json")
  options = {"format": RUN_FORMAT, **options}
  if tf.io.gfile.exists(path):
    # JSON turns tuples into lists.
    options = json.loads(json.dumps(options))
    try:
      saved = read_json_object(path)
    except ValueError as error:
      raise ValueError(
        f"{error} Use another output_dir. If this command began the run, "
        "remove that file: the finished shards stay, and the run continues."
      ) from error
    check_same_options(path, saved, options)
    return
  make_folder(directory)
  write_json_atomically(path, options)


def folder_sha256(directory):
  """Returns the SHA-256 of all file names and contents in a folder."""
  digest = hashlib.sha256()
  for folder, _, names in sorted(tf.io.gfile.walk(directory)):
    for name in sorted(names):
      path = os.path.join(folder, name)
      digest.update(os.path.relpath(path, directory).encode() + b"\0")
      digest.update(file_sha256(path).encode())
  return digest.hexdigest()
