"""Training windows as TFRecords and back."""

import numpy as np
import pytest
import tensorflow as tf

from bert_span.data.labelled_windows import PackedWindows
from bert_span.data.training_records import (
  read_window_records,
  write_window_records,
)
from bert_span.data.window_labels import BIO_LABELS, SPAN_LABELS
from bert_span.storage.record_files import serialized_example

_TOKENS = {
  "token_ids": np.array(
    [2, 7, 3, 9, 8, 3, 2, 3, 5, 3, 2, 6, 3, 4, 3], np.int32
  ),
  "row_splits": np.array([0, 6, 10, 15], np.int64),
  "first_context_positions": np.array([3, 2, 3], np.int32),
}
_SPANS = PackedWindows(
  **_TOKENS,
  labels={
    "start_positions": np.array([3, 0, 3], np.int32),
    "end_positions": np.array([4, 0, 3], np.int32),
  },
  scheme=SPAN_LABELS,
)
_TAGS = PackedWindows(
  **_TOKENS,
  labels={"tag_labels": np.linspace(0, 1, 45, dtype=np.float32).reshape(15, 3)},
  scheme=BIO_LABELS,
)


def paths_of(folder, count):
  return [str(folder / f"{number}.tf_record") for number in range(count)]


def assert_same(one, other):
  assert one.scheme is other.scheme
  values, others = (
    {name: getattr(windows, name) for name in _TOKENS} | windows.labels
    for windows in (one, other)
  )
  assert list(values) == list(others)
  for name, value in values.items():
    read = others[name]
    assert read.dtype == value.dtype, name
    np.testing.assert_array_equal(read, value, err_msg=name)


def records_of(path):
  return [
    tf.train.Example.FromString(record).features.feature
    for record in tf.data.TFRecordDataset(path).as_numpy_iterator()
  ]


@pytest.mark.parametrize("windows", [_SPANS, _TAGS])
@pytest.mark.parametrize("padded_length", [None, 8])
@pytest.mark.parametrize("num_files", [1, 2, 5])
def test_windows_come_back_as_they_were(
  tmp_path, windows, padded_length, num_files
):
  paths = paths_of(tmp_path, num_files)
  counts = write_window_records(paths, windows, padded_length)
  assert sum(counts) == 3 and max(counts) - min(counts) <= 1
  read = read_window_records(paths, counts, windows.scheme)
  assert_same(windows, read)


def test_a_padded_record_is_one_of_the_original(tmp_path):
  (path,) = paths_of(tmp_path, 1)
  write_window_records([path], _SPANS, padded_length=8)
  first, second, _ = records_of(path)
  assert {name: list(f.int64_list.value) for name, f in first.items()} == {
    "unique_ids": [1_000_000_000],
    "input_ids": [2, 7, 3, 9, 8, 3, 0, 0],
    "input_mask": [1, 1, 1, 1, 1, 1, 0, 0],
    "segment_ids": [0, 0, 0, 1, 1, 1, 0, 0],
    "start_positions": [3],
    "end_positions": [4],
  }
  assert list(second["unique_ids"].int64_list.value) == [1_000_000_001]
  assert list(second["segment_ids"].int64_list.value) == [0, 0, 1, 1] + [0] * 4


def test_without_padding_a_record_is_as_long_as_its_window(tmp_path):
  (path,) = paths_of(tmp_path, 1)
  write_window_records([path], _TAGS)
  assert [len(r["input_ids"].int64_list.value) for r in records_of(path)] == [
    *(6, 4, 5)
  ]


def _example(**changes):
  features = {
    "input_ids": [2, 7, 3, 9, 3],
    "input_mask": [1] * 5,
    "segment_ids": [0, 0, 0, 1, 1],
    "start_positions": [3],
    "end_positions": [3],
  }
  return serialized_example(features | changes)


@pytest.mark.parametrize(
  "record",
  [
    b"no example",
    serialized_example({}),
    serialized_example({}, {"input_ids": [0.5]}),
    _example(start_positions=[]),
    _example(input_mask=[1, 1]),
    _example(input_mask=[0] * 5),
    _example(segment_ids=[0] * 5),
    _example(segment_ids=[1] * 5),
    _example(segment_ids=[1, 9]),
  ],
)
def test_a_record_that_is_no_window_is_refused(tmp_path, record):
  (path,) = paths_of(tmp_path, 1)
  for content in (_example(), record):
    with tf.io.TFRecordWriter(path) as writer:
      writer.write(_example())
      writer.write(content)
    if content is record:
      with pytest.raises(ValueError, match=r"0\.tf_record"):
        read_window_records([path], [2], SPAN_LABELS)
    else:
      read_window_records([path], [2], SPAN_LABELS)


def test_no_record_is_an_error(tmp_path):
  (path,) = paths_of(tmp_path, 1)
  tf.io.TFRecordWriter(path).close()
  for paths in ([path], []):
    with pytest.raises(ValueError, match="no window"):
      read_window_records(paths, [0] * len(paths), SPAN_LABELS)


@pytest.mark.parametrize(
  ("fault", "message"),
  [
    ("a record too few", "3 records, but 4"),
    ("damaged", "cannot be read"),
    ("missing", "cannot be read"),
  ],
)
def test_a_damaged_file_is_named(tmp_path, fault, message):
  (path,) = paths_of(tmp_path, 1)
  if fault != "missing":
    write_window_records([path], _SPANS)
  if fault == "damaged":
    with open(path, "r+b") as file:
      file.seek(30)
      file.write(b"damaged")
  with pytest.raises(ValueError, match=rf"0\.tf_record.*{message}"):
    read_window_records([path], [4], SPAN_LABELS)
