"""TFRecord files of tf.train.Example."""

import contextlib

import tensorflow as tf

from bert_span.storage.atomic_file import unfinished_file

# Bytes per read. A file in a bucket then needs few requests.
READ_BYTES = 1 << 20


def is_record_file(path):
  """Returns whether a path has the ending of a TFRecord file."""
  return path.removesuffix(".gz").endswith((".tfrecord", ".tfrecords"))


@contextlib.contextmanager
def open_records(path):
  """Yields a writer into an `unfinished_file`; .gz is compressed."""
  compression = "GZIP" if path.endswith(".gz") else ""
  with (
    unfinished_file(path) as unfinished,
    tf.io.TFRecordWriter(unfinished, compression) as writer,
  ):
    yield writer


def serialized_records(paths):
  """Reads a tf.data.Dataset of paths as records, one file after another."""
  return paths.flat_map(
    lambda path: tf.data.TFRecordDataset(
      path,
      tf.where(tf.strings.regex_full_match(path, r".*\.gz"), "GZIP", ""),
      buffer_size=READ_BYTES,
    )
  )


def serialized_example(integers, floats=None):
  """Serializes a tf.train.Example of integers and floats by feature."""
  example = tf.train.Example()
  for name, values in integers.items():
    example.features.feature[name].int64_list.value.extend(values)
  for name, values in (floats or {}).items():
    example.features.feature[name].float_list.value.extend(values)
  return example.SerializeToString()
