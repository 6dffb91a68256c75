"""WordPieces with byte offsets: by hand, and beside the tokenizer."""

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
  "e",
  "t",
  "et",
  "##t",
  "a",
  "##a",
  "!",
  "σας",
  "σασ",
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


def test_example_of_the_module(lower):
  assert _pieces(lower, "Ét\u0301\u200b.") == [("et", 0, 5), (".", 8, 9)]


def test_cased_keeps_case_and_marks(cased):
  assert _pieces(cased, "et E e\u0301 日!") == [
    *(("et", 0, 2), ("[UNK]", 3, 4), ("[UNK]", 5, 8)),
    *(("日", 9, 12), ("!", 12, 13)),
  ]


def test_a_mark_behind_a_dropped_character_belongs_to_no_token(lower):
  assert _pieces(lower, "e\u200b\u0301 a") == [("e", 0, 1), ("a", 7, 8)]


def test_part_of_a_character_is_all_of_it():
  """A Hangul syllable becomes two letters, which may be two WordPieces."""
  vocabulary = [*_VOCABULARY, "\u1100", "##\u1161"]
  tokenizer = ByteTokenizer(WordPieceTokenizer(vocabulary))
  tokens = tokenizer(tf.constant(["가 a"]))
  assert tokens.char_starts.to_list() == [[0, 0, 4]]
  assert tokens.char_ends.to_list() == [[3, 3, 5]]


def test_a_word_of_over_200_characters_is_unknown(lower):
  assert len(_pieces(lower, "a" * 200)) == 200
  assert _pieces(lower, "t " + "a" * 201 + " t") == [
    *(("t", 0, 1), ("[UNK]", 2, 203), ("t", 204, 205))
  ]
  # Characters are counted, and not bytes.
  assert _pieces(lower, "é" * 201) == [("[UNK]", 0, 402)]
  assert _pieces(lower, "a" * 801) == [("[UNK]", 0, 801)]


@pytest.mark.parametrize("text", ["", " \n\t", "\0", "\u200b\ufeff"])
def test_texts_without_a_token(lower, cased, text):
  assert _pieces(lower, text) == []
  assert _pieces(cased, text) == []
  assert _pieces(lower, text + "\u0301") == []


def test_only_a_final_capital_sigma_is_another_token(lower):
  assert _pieces(lower, "σας") == [("σας", 0, 6)]
  assert _pieces(lower, "ΣΑΣ") == [("σασ", 0, 6)]


def test_tables_tell_marks_from_what_is_dropped():
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
