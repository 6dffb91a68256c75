"""TFRecord files of tf.train.Example."""

import contextlib

import tensorflow as tf

from bert_span.storage.atomic_file import unfinished_file

# Bytes per read: few requests, where the file is in a bucket.
READ_BYTES = 1 << 20
_ENDINGS = (".tfrecord", ".tfrecords", ".tfrecord.gz", ".tfrecords.gz")


def is_record_file(path):
  """Whether a path's ending is one of TFRecord files."""
  return path.endswith(_ENDINGS)


@contextlib.contextmanager
def open_records(path):
  """Yields the tf.io.TFRecordWriter of an `unfinished_file`.

  A path that ends with .gz is compressed.
  """
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
  """Bytes of a tf.train.Example.

  Args:
    integers: dict from a feature's name to a sequence of integers.
    floats: the same with floats, or None.
  """
  features = {
    name: tf.train.Feature(int64_list=tf.train.Int64List(value=values))
    for name, values in integers.items()
  } | {
    name: tf.train.Feature(float_list=tf.train.FloatList(value=values))
    for name, values in (floats or {}).items()
  }
  example = tf.train.Example(features=tf.train.Features(feature=features))
  return example.SerializeToString()
