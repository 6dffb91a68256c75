"""The records of files of questions, format by format, not checked yet.

A reader takes a path and yields (number, record): records are counted from 1,
each a dict with the file's id, question and context, or `Unreadable`. Most
files are read as a stream; SQuAD JSON, and Parquet on a remote disk, are read
whole.
"""

import json
from typing import NamedTuple

import tensorflow as tf
from google.protobuf.message import DecodeError

from bert_span.squad.json_file import load_squad_json, question_records
from bert_span.squad.reader import parse_squad
from bert_span.storage.files import is_remote, open_file, read_bytes
from bert_span.storage.json_fields import FieldErrors, shortened

_NAMES = ("id", "question", "context")
_ROWS_AT_ONCE = 256


class Unreadable(NamedTuple):
  """A record, or the rest of a file, that cannot be read; see `BadRecord`."""

  reason: str
  content: str = ""


def _read_json_lines(path):
  with open_file(path) as file:
    for number, line in enumerate(file, 1):
      if not line.strip():
        continue
      try:
        record = json.loads(line.decode("utf-8-sig"))
      except (ValueError, RecursionError) as error:
        record = Unreadable(
          f"Not JSON in UTF-8: {error}. Write one object a line.",
          line.decode("utf-8", "backslashreplace").rstrip("\r\n"),
        )
      yield number, record


def _read_squad(path):
  try:
    top = load_squad_json(path)
  except ValueError as error:
    yield 1, Unreadable(f"The file cannot be read: {error}")
    return
  parts = (part for article in top["data"] for part in _split(article))
  for number, part in enumerate(parts, 1):
    # Each part is checked alone, so that an error costs one question.
    errors = FieldErrors(path)
    examples, _ = parse_squad({"data": [part]}, errors)
    if errors.count:
      yield number, Unreadable(" ".join(errors.shown), json.dumps(part))
      continue
    (example,) = examples
    yield (
      number,
      {
        "id": example.qas_id,
        "question": example.question,
        "context": example.context,
      },
    )


def _split(article):
  """Articles of one question each; paragraphs without any stay whole."""
  try:
    parts = [
      {
        **article,
        "paragraphs": [{**record.paragraph, "qas": [record.question]}],
      }
      for record in question_records({"data": [article]})
    ]
  except (KeyError, TypeError):
    paragraphs = article.get("paragraphs") if isinstance(article, dict) else 0
    if isinstance(paragraphs, list) and len(paragraphs) > 1:
      for paragraph in paragraphs:
        yield from _split({**article, "paragraphs": [paragraph]})
      return
    parts = [article]
  yield from parts


def _read_tfrecord(path):
  compression = "GZIP" if path.endswith(".gz") else ""
  dataset = tf.data.TFRecordDataset(path, compression, buffer_size=1 << 20)
  number = 0
  try:
    for number, serialized in enumerate(dataset.as_numpy_iterator(), 1):
      yield number, _parsed_example(serialized)
  except tf.errors.DataLossError as error:
    yield number + 1, _damaged(error.message)


def _parsed_example(serialized):
  try:
    example = tf.train.Example.FromString(serialized)
  except DecodeError as error:
    return Unreadable(
      f"Not a tf.train.Example: {error}.", shortened(serialized)
    )
  features = example.features.feature
  return {
    name: _feature_value(features[name]) for name in _NAMES if name in features
  }


def _feature_value(feature):
  """The single value of a feature, or a list of any other number."""
  for kind in (feature.bytes_list, feature.int64_list, feature.float_list):
    if len(kind.value) == 1:
      return kind.value[0]
  return list(feature.bytes_list.value)


def _read_parquet(path):
  # Apache Beam brings it; the other formats do not need it.
  import pyarrow
  from pyarrow import parquet

  source = pyarrow.BufferReader(read_bytes(path)) if is_remote(path) else path
  number = 0
  try:
    file = parquet.ParquetFile(source)
    names = [name for name in _NAMES if name in file.schema_arrow.names]
    for batch in file.iter_batches(_ROWS_AT_ONCE, columns=names):
      for row in batch.to_pylist():
        number += 1
        yield number, row
  except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError) as error:
    yield number + 1, _damaged(error)


def _damaged(error):
  return Unreadable(
    f"The file is damaged from here on: {error}. Write it again."
  )


READERS = {
  "jsonl": _read_json_lines,
  "squad": _read_squad,
  "tfrecord": _read_tfrecord,
  "parquet": _read_parquet,
}
