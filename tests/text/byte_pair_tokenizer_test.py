"""BytePairTokenizer: words, merges and offsets by hand.

added_tokens_test.py compares it with the tokenizers package.
"""

import keras
import pytest
import tensorflow as tf
import tokenizers

from bert_span.text.byte_pair_tokenizer import BytePairTokenizer

# Every byte, then the results of these merges, then tokens of no merge.
_BYTES = tokenizers.pre_tokenizers.ByteLevel.alphabet()
_MERGES = ["i d", "id e", "Ġ t", "Ġt ide", "l o", "lo w", "Ġ low", "â Ĥ", "Ċ Ġ"]
_VOCABULARY = [
  "<s>",
  *sorted(_BYTES),
  *(merge.replace(" ", "") for merge in _MERGES),
  "tide",
]


@pytest.fixture(scope="module")
def tokenizer():
  return BytePairTokenizer(_VOCABULARY, _MERGES)


def _tokens(tokenizer, text):
  """[(token, char_start, char_end)] of a text."""
  ids, starts, ends = (x.to_list()[0] for x in tokenizer([text]))
  tokens = [tokenizer.vocabulary[i] for i in ids]
  return list(zip(tokens, starts, ends, strict=True))


@pytest.mark.parametrize(
  ("text", "tokens"),
  [
    ("low tide", [("low", 0, 3), ("Ġtide", 4, 8)]),  # merges by rank
    # A token that no merge makes is not found, nor is a special one.
    ("tide", [("t", 0, 1), ("ide", 1, 4)]),
    ("<s>", [("<", 0, 1), ("s", 1, 2), (">", 2, 3)]),
    # The euro sign is the bytes e2 82 ac; a merge joins the first two. Parts
    # of a character have its offsets.
    ("1€", [("1", 0, 1), ("âĤ", 1, 2), ("¬", 1, 2)]),
    # Invalid UTF-8 counts as a replacement character.
    (b"a\xff", [("a", 0, 1), *((byte, 1, 2) for byte in "ï¿½")]),
    # White space before a word is apart but for one space.
    ("o  low\n", [("o", 0, 1), ("Ġ", 2, 2), ("Ġlow", 3, 6), ("Ċ", 6, 7)]),
    # Spaces at the end of a token belong to none.
    ("o\n \n", [("o", 0, 1), ("ĊĠ", 1, 2), ("Ċ", 3, 4)]),
  ],
)
def test_tokens_and_their_offsets(tokenizer, text, tokens):
  assert _tokens(tokenizer, text) == tokens


def test_a_prefix_space_makes_the_first_word_like_others():
  layer = BytePairTokenizer(_VOCABULARY, _MERGES, add_prefix_space=True)
  assert _tokens(layer, "tide") == [("Ġtide", 0, 4)]
  for text in (" tide", b" tide\xff"):
    assert _tokens(layer, text)[0] == ("Ġtide", 1, 5)


def test_a_batch_may_have_empty_texts_or_none(tokenizer):
  low = _VOCABULARY.index("low")
  assert tokenizer(["", "low", ""]).ids.to_list() == [[], [low], []]
  empty = tokenizer(tf.zeros([0], tf.string))
  assert empty.char_ends.to_list() == []


def test_a_vocabulary_of_another_model_is_refused():
  with pytest.raises(ValueError, match="'Ġtide'"):
    BytePairTokenizer([t for t in _VOCABULARY if t != "Ġtide"], _MERGES)


def test_a_merge_of_characters_that_are_no_bytes_is_refused():
  # GPT-2's alphabet has no 日; Windows' line ends are no part of a merge.
  for token in ("l日", "o\r"):
    vocabulary, merge = [*_VOCABULARY, token], " ".join(token)
    with pytest.raises(ValueError, match="lacks 1 bytes"):
      BytePairTokenizer(vocabulary, [*_MERGES, merge])


def test_the_merges_live_on_when_a_seed_is_set(tokenizer):
  expected = _tokens(tokenizer, "low tide")
  keras.utils.set_random_seed(1)
  assert _tokens(tokenizer, "low tide") == expected
