"""Shards of answers: which question goes where, and which are done.

A run answers its questions in a fixed number of shards. A question's id decides
its shard, so two questions with the same id meet in one. A shard is two files:

  answers-00003-of-00016.jsonl        the answers, written last
  dead_letters-00003-of-00016.jsonl   what was not answered and why; no file
                                      where there is nothing to say

Both are whole or not there. A shard whose answers stand there is done, and a
restart leaves it out.
"""

import dataclasses
import hashlib
import os
import re

import tensorflow as tf

from bert_span.answers.files.answer_rows import write_json_lines, write_rows


@dataclasses.dataclass(frozen=True)
class AnswerShards:
  """The shards of a run.

  Attributes:
    directory: folder, local or any path of tf.io.gfile.
    count: how many.
    form: of the answers, "jsonl" or "parquet".
  """

  directory: str
  count: int
  form: str = "jsonl"

  def shard_of(self, record):
    """The shard of a `PlacedQuestion` or a `BadRecord`, from 0.

    Python's own hash differs from process to process; this one never does.
    """
    place = record.place
    qas_id = getattr(record, "example", record).qas_id
    text = qas_id or f"{place.path}\0{place.number}"
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") % self.count

  def done(self):
    """Numbers of the shards that are done, a frozenset."""
    pattern = os.path.join(self.directory, f"answers-*.{self.form}")
    name = re.compile(
      rf"answers-(\d{{5,}})-of-{self.count:05d}\.{re.escape(self.form)}"
    )
    found = (
      name.fullmatch(os.path.basename(path))
      for path in tf.io.gfile.glob(pattern)
    )
    return frozenset(int(match[1]) for match in found if match)

  def write(self, shard, rows, dead_letters):
    """Writes a shard; after this it is done.

    Args:
      shard: its number.
      rows: list of dicts of `answer_row`.
      dead_letters: list of `BadRecord`.
    """
    tf.io.gfile.makedirs(self.directory)
    path = self._path("dead_letters", shard, "jsonl")
    if dead_letters:
      write_json_lines(path, map(_dead_letter_row, dead_letters))
    elif tf.io.gfile.exists(path):  # an attempt that was given up wrote it
      tf.io.gfile.remove(path)
    write_rows(self._path("answers", shard, self.form), rows, self.form)

  def _path(self, kind, shard, form):
    name = f"{kind}-{shard:05d}-of-{self.count:05d}.{form}"
    return os.path.join(self.directory, name)


def _dead_letter_row(record):
  return {
    "file": record.place.path,
    "record": record.place.number,
    "id": record.qas_id or None,
    "reason": record.reason,
    "content": record.content,
  }
