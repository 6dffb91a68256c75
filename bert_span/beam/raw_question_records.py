"""The records of files of questions, form by form, nothing checked yet.

A reader takes a path and yields (number, record): records are counted from 1,
each a dict of what the file holds under id, question and context, or
`Unreadable`. Plain files are read as a stream; Parquet and SQuAD JSON that are
not on a local disk are read whole.
"""

import json
from typing import NamedTuple

from bert_span.squad.json_file import load_squad_json
from bert_span.squad.question_records import question_records
from bert_span.squad.reader import parse_squad
from bert_span.storage.files import read_bytes
from bert_span.storage.json_fields import FieldErrors, shortened

_NAMES = ("id", "question", "context")
_ROWS_AT_ONCE = 256


class Unreadable(NamedTuple):
  """A record, or the rest of a file, that cannot be read.

  Attributes:
    reason: a sentence.
    content: the record as text, as far as there is one.
  """

  reason: str
  content: str = ""


def _json_lines(path):
  import tensorflow as tf

  with tf.io.gfile.GFile(path, "rb") as file:
    for number, line in enumerate(file, 1):
      if line.strip():
        yield number, _json_record(line)


def _json_record(line):
  try:
    return json.loads(line.decode("utf-8-sig"))
  except (ValueError, RecursionError) as error:
    return Unreadable(
      f"Not JSON in UTF-8: {error}. Write one object a line.",
      line.decode("utf-8", "backslashreplace").rstrip("\r\n"),
    )


def _squad(path):
  """A SQuAD file is read as a whole, its questions are judged one by one."""
  try:
    top = load_squad_json(path)
  except ValueError as error:
    yield 1, Unreadable(f"The file cannot be read: {error}")
    return
  number = 0
  for article in top["data"]:
    for part in _parts(article):
      number += 1
      yield number, _squad_record(path, part)


def _parts(article):
  """An article cut to single questions; what has no questions stays whole."""
  try:
    found = [
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
        yield from _parts({**article, "paragraphs": [paragraph]})
      return
    found = [article]
  yield from found


def _squad_record(path, article):
  """The record of the one question of an article."""
  errors = FieldErrors(path)
  examples, _ = parse_squad({"data": [article]}, errors)
  if errors.count:
    return Unreadable(" ".join(errors.shown), json.dumps(article))
  (example,) = examples
  return {
    "id": example.qas_id,
    "question": example.question,
    "context": example.context,
  }


def _tfrecord(path):
  import tensorflow as tf

  number = 0
  dataset = tf.data.TFRecordDataset(
    path, "GZIP" if path.endswith(".gz") else "", buffer_size=1 << 20
  )
  try:
    for number, serialized in enumerate(dataset.as_numpy_iterator(), 1):
      yield number, _tfrecord_record(serialized)
  except tf.errors.DataLossError as error:
    yield (
      number + 1,
      Unreadable(
        f"The file is damaged from here on: {error.message}. Write it again."
      ),
    )


def _tfrecord_record(serialized):
  import tensorflow as tf
  from google.protobuf.message import DecodeError

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
  """The single value of a feature; a list where it has not just one."""
  for kind in (feature.bytes_list, feature.int64_list, feature.float_list):
    if len(kind.value) == 1:
      return kind.value[0]
  return list(feature.bytes_list.value)


def _parquet(path):
  import pyarrow
  from pyarrow import parquet

  number = 0
  source = path
  if "://" in path:
    source = pyarrow.BufferReader(read_bytes(path))
  try:
    file = parquet.ParquetFile(source)
    names = [name for name in _NAMES if name in file.schema_arrow.names]
    for batch in file.iter_batches(_ROWS_AT_ONCE, columns=names):
      for row in batch.to_pylist():
        number += 1
        yield number, row
  except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError) as error:
    yield (
      number + 1,
      Unreadable(f"The file is damaged from here on: {error}. Write it again."),
    )


READERS = {
  "jsonl": _json_lines,
  "squad": _squad,
  "tfrecord": _tfrecord,
  "parquet": _parquet,
}
