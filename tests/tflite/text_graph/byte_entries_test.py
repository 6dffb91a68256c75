"""N-best lists by bytes, by hand."""

import tensorflow as tf

from bert_span.answers.decoding.candidates import Candidates
from bert_span.answers.decoding.n_best import null_of_windows
from bert_span.tflite.text_graph import byte_entries


def _candidates(spans):
  """Of rows (byte_start, byte_end, score)."""
  starts, ends, scores = zip(*spans, strict=True) if spans else ((), (), ())
  scores = tf.constant(scores, tf.float32)
  zeros = tf.zeros_like(scores, tf.int32)
  return Candidates(
    zeros,
    zeros,
    tf.constant(starts, tf.int32),
    tf.constant(ends, tf.int32),
    *(scores, 0 * scores, scores, 0 * scores),
  )


def _bytes(text):
  return tf.constant(list(text.encode("utf-8")), tf.int32)


def test_equal_texts_after_the_first_are_left_out():
  found = byte_entries.distinct_entries(
    _candidates(
      [(0, 2, 1.0), (3, 5, 3.0), (6, 8, 2.0), (0, 5, 0.5), (0, 1, 0.0)]
    ),
    _bytes("ab ab cd"),
    4,
  )
  # ab (3), cd (2), the other ab, "ab ab" (0.5), a (0)
  assert found.count.numpy() == [4]
  assert found.char_start.numpy().tolist() == [[3, 6, 0, 0]]
  assert found.char_end.numpy().tolist() == [[5, 8, 5, 1]]
  assert found.score.numpy().tolist() == [[3.0, 2.0, 0.5, 0.0]]


def test_a_list_is_as_long_as_asked_and_padded_with_zeros():
  spans = [(0, 1, 1.0), (1, 2, 1.0), (2, 3, 5.0)]
  text = _bytes("abc")
  found = byte_entries.distinct_entries(_candidates(spans), text, 2)
  # Of equal scores the first one comes first.
  assert found.char_start.numpy().tolist() == [[2, 0]]
  found = byte_entries.distinct_entries(_candidates(spans), text, 5)
  assert found.count.numpy() == [3]
  assert found.char_end.numpy().tolist() == [[3, 1, 2, 0, 0]]


def test_no_candidate_gives_an_empty_list():
  found = byte_entries.distinct_entries(_candidates([]), _bytes(""), 3)
  assert found.count.numpy() == [0]
  assert found.char_end.numpy().tolist() == [[0, 0, 0]]
  assert found.score.numpy().tolist() == [[0.0, 0.0, 0.0]]


def test_the_null_entry_is_of_the_lowest_window():
  start = tf.constant([[3.0, 9.0], [1.0, 9.0], [1.0, 9.0], [-9.0, 0.0]])
  end = tf.constant([[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
  of_windows = null_of_windows(start, end, start, end)
  null = byte_entries.null_entry(3, of_windows)
  assert null.score.numpy() == [2.0]
  assert null.start_logit.numpy() == [1.0]
  null = byte_entries.null_entry(0, of_windows)
  assert null.score.numpy() == [0.0]
