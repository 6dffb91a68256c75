"""What a preprocessor takes as texts, integers and weights."""

import numpy as np
import pytest
import tensorflow as tf

from bert_span.data.call_arguments import (
  decode_text,
  eager_values,
  integer_list,
  integer_tensor,
  named_items,
  text_array,
  text_tensor,
  weight_tensor,
)

_SPEC = tf.TensorSpec([None], tf.string)


def test_items_are_those_named_and_a_missing_one_is_refused():
  values = {"a": 1, "b": 2, "c": 3}
  assert named_items("x", values, ("c", "a")) == {"c": 3, "a": 1}
  for wrong, received in (
    ({"a": 1}, "a dict of a"),
    ({}, "nothing"),
    (["a", "b"], "list"),
  ):
    with pytest.raises(ValueError, match=f"^x .*a and b.*{received}"):
      named_items("x", wrong, ("a", "b"))


def test_texts_keep_zero_bytes_and_lone_surrogates_their_place():
  array = text_array(["b\x00\x00", b"\xff", "\ud83d b"])
  assert array.tolist() == [b"b\x00\x00", b"\xff", "\ufffd b".encode()]
  assert text_tensor(np.array(["a", "b"])).numpy().tolist() == [b"a", b"b"]


def test_tensors_and_specs_of_the_type_are_taken_as_they_are():
  tensor = tf.constant(["a"])
  assert text_tensor(tensor) is tensor
  assert text_tensor(_SPEC) is _SPEC
  spec = tf.TensorSpec([None], tf.int32)
  assert integer_tensor(spec, "y") is weight_tensor(spec, "y") is spec
  assert integer_tensor(tf.constant([3], tf.int8), "y").dtype == tf.int64
  assert weight_tensor(tf.constant([3]), "y").dtype == tf.float32


@pytest.mark.parametrize(
  ("convert", "values", "named"),
  [
    (text_tensor, "abc", "^x .*'abc'"),
    (text_tensor, {"a": 1}, "^x "),
    (text_tensor, None, "^x .*None"),
    (text_tensor, ["a", 1.5], r"^x\[1\] .*1.5"),
    (text_tensor, tf.constant([1]), "^x .*int32"),
    (text_tensor, tf.constant("a"), r"^x .*string.*\(\).*batch\(32\)"),
    (text_tensor, tf.TensorSpec(None, tf.string), "^x .*output_signature"),
    (text_tensor, tf.constant([["a"]]), r"^x .*\(1, 1\)\.?$"),
    (integer_tensor, [0, True], r"^x\[1\] .*True"),
    (integer_tensor, [0.0], r"^x\[0\] .*0.0"),
    (integer_tensor, [1 << 63], r"^x\[0\] "),
    (integer_tensor, tf.constant([0.5]), "^x .*float32"),
    (weight_tensor, ["heavy"], "^x .*'heavy'"),
    (weight_tensor, [[1.0]], r"^x .*\(1, 1\)"),
    (weight_tensor, tf.constant(["1"]), "^x .*string"),
  ],
)
def test_other_values_are_refused_with_the_argument(convert, values, named):
  with pytest.raises(ValueError, match=named):
    convert(values, "x")


def test_integers_of_any_type_are_ints():
  values = integer_list([np.int8(-1), (1 << 63) - 1], "x")
  assert values == [-1, (1 << 63) - 1] and type(values[0]) is int


def test_bytes_that_are_no_text_are_named_by_their_place():
  assert decode_text("é".encode(), "question 3") == "é"
  with pytest.raises(ValueError, match=r"^question 3: .*\\xe9"):
    decode_text(b"caf\xe9", "question 3")


def test_ragged_tensors_are_lists():
  assert eager_values(tf.ragged.constant([[1], []])) == [[1], []]
  assert eager_values(tf.constant([1, 2])).tolist() == [1, 2]
