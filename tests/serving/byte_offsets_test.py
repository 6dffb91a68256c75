"""Offsets in bytes, also of text that is no UTF-8."""

import tensorflow as tf
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bert_span.serving.byte_offsets import byte_offsets


def _offsets(texts, char_offsets):
  return byte_offsets(
    tf.constant(texts, tf.string, [len(texts)]),
    tf.constant(char_offsets, tf.int32),
  ).numpy()


def test_an_invalid_byte_is_one_character_of_its_own():
  offsets = _offsets([b"h\xc3\xa9l\xffo"], [[0, 1, 2, 3, 4, 5]])
  assert offsets.tolist() == [[0, 1, 3, 4, 5, 6]]


def test_rows_of_a_batch_do_not_mix():
  texts = ["日本", "", "a🙂b"]
  texts = [text.encode() for text in texts]
  offsets = _offsets(texts, [[1, 2], [0, 0], [2, 3]])
  assert offsets.tolist() == [[3, 6], [0, 0], [5, 6]]


def test_a_batch_of_zero_has_no_offsets():
  offsets = byte_offsets(tf.zeros([0], tf.string), tf.zeros([0, 4], tf.int32))
  assert offsets.shape == (0, 4)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=12))
@example(b"\xed\xa0\x80x")  # a surrogate
@example(b"\xe6\x97z\xf0\x9f\x99")  # cut characters
@example(b"\xc0\x80\xfe\xf8\x88\x80\x80\x80")
@example("\ufeff\x00é".encode())
def test_characters_are_counted_as_python_decodes_bytes(text):
  decoded = text.decode("utf-8", errors="replace")
  (ends,) = _offsets([text], [list(range(len(decoded) + 1))])
  assert ends[0] == 0
  assert ends[-1] == len(text)
  for i, character in enumerate(decoded):
    piece = text[ends[i] : ends[i + 1]]
    assert piece.decode("utf-8", errors="replace") == character
