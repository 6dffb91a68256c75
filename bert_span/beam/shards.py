"""The shards of a run of beam_predict, their files, and the run's options.

A question's id decides its shard, so two questions with one id meet in the
same shard. A shard has two files:

  answers-00003-of-00016.jsonl        the answers, written last
  dead_letters-00003-of-00016.jsonl   records without an answer, with the
                                      reason; no file if there are none

Each is written whole or not at all. A shard whose answers exist is done, and a
restart skips it. job.json has the options of a run, and a restart with other
inputs, models or options is refused.
"""

import dataclasses
import hashlib
import json
import os

import tensorflow as tf

from bert_span.answers.prediction_files import write_json_lines, write_rows
from bert_span.storage.atomic_file import write_json_atomically
from bert_span.storage.files import file_sha256
from bert_span.storage.options import check_same_options


@dataclasses.dataclass(frozen=True)
class AnswerShards:
  """The shards of a run."""

  directory: str  # local or any path of tf.io.gfile
  count: int
  format: str = "jsonl"  # of the answers, or "parquet"

  def shard_of(self, record):
    """The shard of a `LocatedQuestion` or a `BadRecord`, from 0."""
    at = record.location
    qas_id = getattr(record, "example", record).qas_id
    text = qas_id or f"{at.path}\0{at.number}"
    # Python's own hash differs from process to process.
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") % self.count

  def done(self):
    """Numbers of the shards that are done, a frozenset."""
    pattern = os.path.join(self.directory, f"answers-*.{self.format}")
    found = set(map(os.path.basename, tf.io.gfile.glob(pattern)))
    names = (self._name("answers", n, self.format) for n in range(self.count))
    return frozenset(n for n, name in enumerate(names) if name in found)

  def write(self, shard, rows, dead_letters):
    """Writes rows of `answer_row` and `BadRecord`s; the shard is then done."""
    tf.io.gfile.makedirs(self.directory)
    letters, answers = (
      os.path.join(self.directory, self._name(kind, shard, ending))
      for kind, ending in (("dead_letters", "jsonl"), ("answers", self.format))
    )
    bad = [
      {
        "file": record.location.path,
        "record": record.location.number,
        "id": record.qas_id or None,
        "reason": record.reason,
        "content": record.content,
      }
      for record in dead_letters
    ]
    if bad:
      write_json_lines(letters, bad)
    elif tf.io.gfile.exists(letters):  # of an attempt that failed
      tf.io.gfile.remove(letters)
    write_rows(answers, rows, self.format)

  def _name(self, kind, shard, ending):
    return f"{kind}-{shard:05d}-of-{self.count:05d}.{ending}"


def start_or_continue(directory, options):
  """Writes a run's options, JSON values, or compares them with its start's."""
  path = os.path.join(directory, "job.json")
  if tf.io.gfile.exists(path):
    # As JSON gives them back: lists instead of tuples.
    check_same_options(path, json.loads(json.dumps(options)))
    return
  tf.io.gfile.makedirs(directory)
  write_json_atomically(path, options)


def folder_sha256(directory):
  """SHA-256 of the names and contents of all files of a folder."""
  digest = hashlib.sha256()
  for folder, _, names in sorted(tf.io.gfile.walk(directory)):
    for name in sorted(names):
      path = os.path.join(folder, name)
      digest.update(os.path.relpath(path, directory).encode() + b"\0")
      digest.update(file_sha256(path).encode())
  return digest.hexdigest()
