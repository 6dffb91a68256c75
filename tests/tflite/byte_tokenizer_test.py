"""WordPieces with byte offsets, by hand."""

import pytest
import tensorflow as tf
import tensorflow_text as tf_text
from tiny_extractor import VOCABULARY

from bert_span.text.tokenizer import WordPieceTokenizer
from bert_span.tflite.byte_tokenizer import (
  ByteTokenizer,
  double_array,
  normalizer_model,
)

_VOCABULARY = [
  *VOCABULARY,
  *("e", "t", "et", "##t", "a", "##a", "!", "σας", "σασ", "\u1100", "##\u1161"),
]


@pytest.fixture(scope="module")
def lower():
  return ByteTokenizer(WordPieceTokenizer(_VOCABULARY))


def _pieces(tokenizer, text):
  """[(token, byte_start, byte_end), ..] of one text."""
  ids, starts, ends = (
    part[0].numpy().tolist() for part in tokenizer(tf.constant([text]))
  )
  return list(zip((_VOCABULARY[i] for i in ids), starts, ends, strict=True))


@pytest.mark.parametrize(
  ("text", "pieces"),
  [
    *(("", []), (" \n\t", []), ("\0", []), ("\u200b\ufeff\u0301", [])),
    # The example of the module.
    ("Ét\u0301\u200b.", [("et", 0, 5), (".", 8, 9)]),
    # A mark after a dropped character belongs to no token.
    ("e\u200b\u0301 a", [("e", 0, 1), ("a", 7, 8)]),
    # A Hangul syllable becomes two letters, here two WordPieces.
    ("가 a", [("\u1100", 0, 3), ("##\u1161", 0, 3), ("a", 4, 5)]),
    # Words of over 200 characters, not bytes, are unknown.
    ("a" * 200, [("a", 0, 1)] + [("##a", i, i + 1) for i in range(1, 200)]),
    ("é" * 201 + " t", [("[UNK]", 0, 402), ("t", 403, 404)]),
    ("a" * 801, [("[UNK]", 0, 801)]),
    # A final capital sigma is the only difference to `WordPieceTokenizer`.
    ("σας", [("σας", 0, 6)]),
    ("ΣΑΣ", [("σασ", 0, 6)]),
  ],
)
def test_words_and_their_offsets(lower, text, pieces):
  assert _pieces(lower, text) == pieces


def test_cased_keeps_case_and_marks():
  cased = ByteTokenizer(WordPieceTokenizer(_VOCABULARY, do_lower_case=False))
  assert _pieces(cased, " \u200b") == []
  assert _pieces(cased, "et E e\u0301 日!") == [
    *(("et", 0, 2), ("[UNK]", 3, 4), ("[UNK]", 5, 8)),
    *(("日", 9, 12), ("!", 12, 13)),
  ]


def test_a_trie_without_keys_leads_nowhere_outside():
  """Cased text has an empty table; a reader would crash."""
  units = double_array({})
  first = int(units[0]) >> 10
  assert all(first ^ byte < len(units) for byte in range(256))


def test_every_character_of_a_table_is_replaced_and_no_other():
  texts = [*map(chr, range(1, 0x3000)), "🙂", "\U0002f800"]
  table = {character: f"<{i}>" for i, character in enumerate(texts[::7])}
  normalizer = tf_text.FastBertNormalizer(model_buffer=normalizer_model(table))
  found = normalizer.normalize(tf.constant(texts)).numpy()
  assert [x.decode() for x in found] == [table.get(x, x) for x in texts]
