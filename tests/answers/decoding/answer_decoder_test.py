"""What decoders share: options, finite logits, texts and ranks of spans."""

import pytest
import tensorflow as tf

from bert_span import SpanDecoder
from bert_span.answers.decoding.answer_decoder import (
  first_of_each_text,
  ranks,
  span_texts,
  table_texts,
)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_logits_that_are_not_finite_are_an_error(value):
  decoder = SpanDecoder()
  logits = tf.constant([1.5, -1e9], tf.float64)
  assert decoder.finite(logits, "logits").dtype == tf.float32
  with pytest.raises(tf.errors.InvalidArgumentError, match="end_logits"):
    decoder.finite([0.0, value], "end_logits")


def test_span_texts_keep_every_code_point():
  context = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))
  characters = tf.strings.unicode_decode(["é", context], "UTF-8")
  texts = span_texts(characters, [1, 1, 0], [0, 5, 1], [len(context), 300, 1])
  expected = [context, context[5:300], ""]
  assert [text.decode() for text in texts.numpy()] == expected


_CHARACTERS = tf.ragged.constant([[*map(ord, "é ab é")], [], [*map(ord, "é")]])


def test_a_table_has_the_texts_of_each_row_s_context():
  texts = table_texts(
    _CHARACTERS, [[0, 2], [0, 0], [0, 0]], [[1, 4], [0, 0], [1, 0]]
  )
  decoded = [[text.decode() for text in row] for row in texts.numpy()]
  assert decoded == [["é", "ab"], ["", ""], ["é", ""]]


def test_the_first_row_of_each_text_of_an_example_is_kept():
  # é, ab, é again, and é of another example.
  kept = first_of_each_text(
    _CHARACTERS, tf.constant([0, 0, 0, 2]), [0, 2, 5, 0], [1, 4, 6, 1]
  )
  assert kept.numpy().tolist() == [0, 1, 3]


def test_rows_have_their_rank_in_their_example():
  rank, rows = ranks(tf.constant([0, 0, 2, 2, 2]), 4)
  assert rank.numpy().tolist() == [0, 1, 0, 1, 2]
  assert rows.numpy().tolist() == [2, 0, 3, 0]
