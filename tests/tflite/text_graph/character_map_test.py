"""Tables of characters, by hand and through tensorflow-text's own op."""

import numpy as np
import tensorflow as tf
import tensorflow_text as tf_text

from bert_span.tflite.text_graph.character_map import (
  double_array,
  normalizer_model,
)


def _walk(units, key):
  """The value of a key in a double array; None where there is none."""
  position = 0
  for byte in key:
    position ^= int(units[position]) >> 10 ^ byte
    if units[position] & 0x800000FF != byte:
      return None
  if not units[position] & 0x100:
    return None
  return int(units[position ^ int(units[position]) >> 10]) & 0x7FFFFFFF


def test_example_of_the_docstring():
  units = double_array({b"A": 7})
  assert units[0] == 256 << 10
  assert units[321] == (321 ^ 1) << 10 | 0x100 | 65
  assert units[1] == 1 << 31 | 7
  assert np.count_nonzero(units) == 3


def test_every_key_has_its_value_and_no_other_text_has_one():
  characters = [chr(c) for c in range(1, 0x3000, 7)] + ["🙂", "\U0002f800"]
  values = {c.encode("utf-8"): i for i, c in enumerate(characters)}
  units = double_array(values)
  assert len(units) % 256 == 0
  assert all(_walk(units, key) == value for key, value in values.items())
  others = {chr(c).encode("utf-8") for c in range(1, 0x3000)} - set(values)
  assert all(_walk(units, key) is None for key in others)


def test_characters_are_replaced_dropped_and_kept():
  model = normalizer_model(
    {"É": "e", "b": "", "\0": "", "🙂": "smile", "A": "a", "가": "가"}
  )
  normalizer = tf_text.FastBertNormalizer(model_buffer=model)
  texts = ["ÉabA\0🙂日", "", "日x", "가b", "bb"]
  found, offsets = normalizer.normalize_with_offsets(tf.constant(texts))
  assert [text.decode() for text in found.numpy()] == [
    *("eaasmile日", "", "日x", "가", "")
  ]
  assert offsets[0].numpy().tolist() == [
    *(0, 2, 4, 6, 6, 6, 6, 6, 10, 11, 12, 13)
  ]
  assert offsets[2].numpy().tolist() == [0, 1, 2, 3, 4]


def test_a_table_that_only_drops_has_no_replacements_to_hold():
  normalizer = tf_text.FastBertNormalizer(
    model_buffer=normalizer_model({"x": ""})
  )
  assert normalizer.normalize(tf.constant(["axb"])).numpy() == [b"ab"]
