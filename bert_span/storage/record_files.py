"""TFRecord files of tf.train.Example: written whole, read one by one."""

import contextlib

import tensorflow as tf

from bert_span.storage.atomic_file import unfinished_file

# Read from a file at once: few requests, where the file is in a bucket.
READ_BYTES = 1 << 20
_ENDINGS = (".tfrecord", ".tfrecords", ".tfrecord.gz", ".tfrecords.gz")


def is_record_file(path):
  """Whether a path is read as records and not as text."""
  return path.endswith(_ENDINGS)


@contextlib.contextmanager
def open_records(path):
  """A file of records that gets its name at the end.

  Args:
    path: local or any path of tf.io.gfile; one that ends with .gz is
      compressed; an old file stays until the block ends without an error.

  Yields:
    tf.io.TFRecordWriter.
  """
  compression = "GZIP" if path.endswith(".gz") else ""
  with (
    unfinished_file(path) as unfinished,
    tf.io.TFRecordWriter(unfinished, compression) as writer,
  ):
    yield writer


def serialized_records(paths):
  """The records of some files, one file after another.

  Args:
    paths: tf.data.Dataset of paths.

  Returns:
    tf.data.Dataset of serialized records.
  """
  return paths.flat_map(
    lambda path: tf.data.TFRecordDataset(
      path,
      tf.where(tf.strings.regex_full_match(path, r".*\.gz"), "GZIP", ""),
      buffer_size=READ_BYTES,
    )
  )


def serialized_example(integers, floats=None):
  """One record.

  Args:
    integers: dict from a feature's name to a sequence of integers.
    floats: the same with floats; None for none.

  Returns:
    bytes of a tf.train.Example; it knows int64 and float32 only.
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
