"""TFRecord files are written and read in order."""

import pytest
import tensorflow as tf

from bert_span.storage.record_files import (
  is_record_file,
  open_records,
  serialized_example,
  serialized_records,
)


def test_records_come_back_in_the_order_of_files_and_of_writing(tmp_path):
  paths = [str(tmp_path / "b.tfrecord.gz"), str(tmp_path / "a.tfrecord")]
  records = [b"first", b"second", b"third", b"fourth"]
  for path, pair in zip(paths, (records[:2], records[2:]), strict=True):
    with open_records(path) as writer:
      for record in pair:
        writer.write(record)
  read = serialized_records(tf.data.Dataset.from_tensor_slices(paths))
  assert list(read.as_numpy_iterator()) == records


@pytest.mark.parametrize(
  ("path", "is_one"),
  [
    *(("a.tfrecord", True), ("gs://b/a.tfrecords.gz", True)),
    *(("a.tfrecord.json", False), ("a.txt.gz", False), ("tfrecord", False)),
  ],
)
def test_a_record_file_is_known_by_its_ending(path, is_one):
  assert is_record_file(path) is is_one


def test_an_example_holds_integers_and_floats_by_feature():
  content = serialized_example({"ids": [3, -1]}, {"weights": [0.5]})
  parsed = tf.io.parse_single_example(
    content,
    {
      "ids": tf.io.FixedLenFeature([2], tf.int64),
      "weights": tf.io.FixedLenFeature([1], tf.float32),
    },
  )
  assert parsed["ids"].numpy().tolist() == [3, -1]
  assert parsed["weights"].numpy().tolist() == [0.5]
