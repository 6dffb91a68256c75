"""Record files: whole or not there, read in order."""

import pytest
import tensorflow as tf

from bert_span.storage.record_files import (
  is_record_file,
  open_records,
  serialized_records,
)


def test_files_are_known_by_their_ending():
  names = ("gs://b/x.tfrecord.gz", "x.tfrecords", "x.txt.gz")
  assert list(map(is_record_file, names)) == [True, True, False]


def test_records_come_back_in_the_order_of_files_and_of_writing(tmp_path):
  paths = [str(tmp_path / "b.tfrecord.gz"), str(tmp_path / "a.tfrecord")]
  for number, path in enumerate(paths):
    with open_records(path) as writer:
      writer.write(b"%d first" % number)
      writer.write(b"%d second" % number)
  read = serialized_records(tf.data.Dataset.from_tensor_slices(paths))
  assert list(read.as_numpy_iterator()) == [
    *(b"0 first", b"0 second", b"1 first", b"1 second")
  ]


def test_a_file_that_is_not_finished_leaves_the_old_one(tmp_path):
  path = tmp_path / "a.tfrecord"
  with open_records(str(path)) as writer:
    writer.write(b"old")
  before = path.read_bytes()
  with pytest.raises(RuntimeError), open_records(str(path)) as writer:
    writer.write(b"new")
    raise RuntimeError("power cut")
  assert path.read_bytes() == before
  assert list(tmp_path.iterdir()) == [path]
