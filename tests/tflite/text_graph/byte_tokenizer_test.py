"""WordPieces with byte offsets, by hand."""

import pytest
import tensorflow as tf
from tiny_extractor import VOCABULARY

from bert_span.text.tokenizer import WordPieceTokenizer
from bert_span.tflite.text_graph.byte_tokenizer import (
  ByteTokenizer,
  character_tables,
)

_VOCABULARY = [
  *VOCABULARY,
  *("e", "t", "et", "##t", "a", "##a", "!", "σας", "σασ", "\u1100", "##\u1161"),
]


@pytest.fixture(scope="module")
def lower():
  return ByteTokenizer(WordPieceTokenizer(_VOCABULARY))


@pytest.fixture(scope="module")
def cased():
  return ByteTokenizer(WordPieceTokenizer(_VOCABULARY, do_lower_case=False))


def _pieces(tokenizer, text):
  """[(token, byte_start, byte_end), ..] of one text."""
  ids, starts, ends = (
    part[0].numpy().tolist() for part in tokenizer(tf.constant([text]))
  )
  return list(zip((_VOCABULARY[i] for i in ids), starts, ends, strict=True))


@pytest.mark.parametrize(
  ("text", "pieces"),
  [
    # The example of the module.
    ("Ét\u0301\u200b.", [("et", 0, 5), (".", 8, 9)]),
    # A mark after a dropped character belongs to no token.
    ("e\u200b\u0301 a", [("e", 0, 1), ("a", 7, 8)]),
    # A Hangul syllable becomes two letters, here two WordPieces.
    ("가 a", [("\u1100", 0, 3), ("##\u1161", 0, 3), ("a", 4, 5)]),
    # Words of over 200 characters, not bytes, are unknown.
    (
      "t " + "a" * 201 + " t",
      [("t", 0, 1), ("[UNK]", 2, 203), ("t", 204, 205)],
    ),
    ("é" * 201, [("[UNK]", 0, 402)]),
    ("a" * 801, [("[UNK]", 0, 801)]),
    # A final capital sigma is the only difference to `WordPieceTokenizer`.
    ("σας", [("σας", 0, 6)]),
    ("ΣΑΣ", [("σασ", 0, 6)]),
  ],
)
def test_words_and_their_offsets(lower, text, pieces):
  assert _pieces(lower, text) == pieces


def test_a_word_of_200_characters_is_split(lower):
  assert len(_pieces(lower, "a" * 200)) == 200


def test_cased_keeps_case_and_marks(cased):
  assert _pieces(cased, "et E e\u0301 日!") == [
    *(("et", 0, 2), ("[UNK]", 3, 4), ("[UNK]", 5, 8)),
    *(("日", 9, 12), ("!", 12, 13)),
  ]


@pytest.mark.parametrize("text", ["", " \n\t", "\0", "\u200b\ufeff"])
def test_texts_without_a_token(lower, cased, text):
  assert _pieces(lower, text) == []
  assert _pieces(cased, text) == []
  assert _pieces(lower, text + "\u0301") == []


def test_tables_distinguish_marks_from_dropped_characters():
  folded, dropped = character_tables(WordPieceTokenizer(_VOCABULARY))
  assert folded["É"] == "e"
  assert folded["İ"] == "i"
  assert folded["\u0301"] == ""
  assert "ß" not in folded
  assert {"\0", "\u200b", "\ufffd", "\ufeff"} <= set(dropped)
  assert not {"\n", "\t", " ", "\u0301"} & set(dropped)
  cased = WordPieceTokenizer(_VOCABULARY, do_lower_case=False)
  assert character_tables(cased) == ({}, dropped)


def test_the_bytes_of_a_text(lower):
  assert lower.bytes_of(tf.constant(["é a"])).numpy().tolist() == [
    *(0xC3, 0xA9, 0x20, 0x61)
  ]
