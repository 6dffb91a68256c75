"""TFRecord files of tf.train.Example."""

import contextlib

import tensorflow as tf

from bert_span.storage.atomic_file import unfinished_file

# Bytes per read: few requests, where the file is in a bucket.
READ_BYTES = 1 << 20


def is_record_file(path):
  """Whether a path ends as TFRecord files do."""
  return path.removesuffix(".gz").endswith((".tfrecord", ".tfrecords"))


@contextlib.contextmanager
def open_records(path):
  """Yields the writer of an `unfinished_file`; .gz is compressed."""
  compression = "GZIP" if path.endswith(".gz") else ""
  with (
    unfinished_file(path) as unfinished,
    tf.io.TFRecordWriter(unfinished, compression) as writer,
  ):
    yield writer


def serialized_records(paths):
  """The records of a tf.data.Dataset of paths, one file after another."""
  return paths.flat_map(
    lambda path: tf.data.TFRecordDataset(
      path,
      tf.where(tf.strings.regex_full_match(path, r".*\.gz"), "GZIP", ""),
      buffer_size=READ_BYTES,
    )
  )


def serialized_example(integers, floats=None):
  """Bytes of a tf.train.Example of integers and floats, dicts by feature."""
  example = tf.train.Example()
  for name, values in integers.items():
    example.features.feature[name].int64_list.value.extend(values)
  for name, values in (floats or {}).items():
    example.features.feature[name].float_list.value.extend(values)
  return example.SerializeToString()
