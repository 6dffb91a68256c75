import pytest
import tensorflow as tf

from bert_span.squad.lint.unknown_words import UnknownWords
from bert_span.text.tokenizer import WordPieceTokenizer

_VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "##b", "c", "."]


@pytest.fixture
def count():
  """A function that counts a batch of texts, one example each."""
  tokenizer = WordPieceTokenizer(_VOCABULARY)

  def counted(*texts, unknown=None, first=0):
    unknown = unknown or UnknownWords(tokenizer)
    unknown.add(
      list(texts),
      tokenizer(tf.constant(texts)),
      range(first, first + len(texts)),
    )
    return unknown

  return counted


def test_tokens_and_characters_are_counted_without_white_space(count):
  unknown = count("ab  ½c .", "a")
  # a ##b [UNK] . | a: the word "½c" as a whole is unknown.
  assert (unknown.num_tokens, unknown.num_unknown_tokens) == (5, 1)
  assert (unknown.num_characters, unknown.num_unknown_characters) == (6, 2)
  assert unknown.words() == [("½c", 1, 0)]
  assert unknown.characters() == [("½", 1, 0)]


def test_the_most_frequent_come_first_with_their_first_example(count):
  unknown = count("½ a", "€€", first=5)
  count("€ € ½", unknown=unknown, first=2)
  assert unknown.words() == [("½", 2, 2), ("€", 2, 2), ("€€", 1, 6)]
  assert unknown.characters() == [("€", 4, 2), ("½", 2, 2)]


def test_a_word_can_be_unknown_without_an_unknown_character(count):
  unknown = count("ac", "a" * 201)
  assert [word for word, _, _ in unknown.words()] == ["ac", "a" * 201]
  assert unknown.characters() == []


def test_nothing_unknown_gives_empty_lists(count):
  unknown = count("ab c.", "")
  assert unknown.num_unknown_tokens == 0
  assert unknown.words() == []
  assert unknown.characters() == []
