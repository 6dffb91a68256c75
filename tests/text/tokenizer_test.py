"""WordPieces and their offsets: by hand, then against the original's."""

import pytest
import tensorflow as tf

from bert_span.text.tokenizer import WordPieceTokenizer
from bert_span.text.vocabulary import load_vocabulary

_VOCABULARY = [
  *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "##a", "b", "##b", "e", "é"),
  *("etienne", "istanbul", "σας", "σασ", "中", "文", "1895", "1943"),
  *("!", "(", ")", "-", ".", "½", "€", "##€"),
]
_NUM_BATCH = 500


@pytest.fixture(scope="module")
def lower():
  return WordPieceTokenizer(_VOCABULARY)


@pytest.fixture(scope="module")
def cased():
  return WordPieceTokenizer(_VOCABULARY, do_lower_case=False)


def _pieces(tokenizer, text):
  """[(token, char_start, char_end), ..] of one text."""
  tokens = tokenizer(tf.constant([text]))
  words = [tokenizer.vocabulary[i] for i in tokens.ids[0].numpy()]
  starts = tokens.char_starts[0].numpy().tolist()
  ends = tokens.char_ends[0].numpy().tolist()
  return list(zip(words, starts, ends, strict=True))


def test_example_of_the_docstring(lower):
  tokens = lower(tf.constant(["Étienne (1895-1943)."]))
  words = [_VOCABULARY[i] for i in tokens.ids[0].numpy()]
  assert words == ["etienne", "(", "1895", "-", "1943", ")", "."]
  assert tokens.char_starts.to_list() == [[0, 8, 9, 13, 14, 18, 19]]
  assert tokens.char_ends.to_list() == [[7, 9, 13, 14, 18, 19, 20]]
  assert tokens.ids.dtype == tokens.char_starts.dtype == tf.int32


def test_a_composed_accent_is_stripped_and_is_one_character(lower):
  assert _pieces(lower, "é a") == [("e", 0, 1), ("a", 2, 3)]


def test_a_decomposed_accent_belongs_to_the_token_before_it(lower):
  assert _pieces(lower, "e\u0301 a") == [("e", 0, 2), ("a", 3, 4)]
  assert _pieces(lower, "a\u0301\u0301b!") == [
    ("a", 0, 3),
    ("##b", 3, 4),
    ("!", 4, 5),
  ]


def test_an_accent_without_a_letter_vanishes(lower):
  assert _pieces(lower, " \u0301 a") == [("a", 3, 4)]


def test_cased_keeps_case_and_accents(cased):
  assert _pieces(cased, "é E a") == [("é", 0, 1), ("[UNK]", 2, 3), ("a", 4, 5)]
  assert _pieces(cased, "e\u0301") == [("[UNK]", 0, 2)]


@pytest.mark.parametrize(
  "dropped",
  [
    "\x00",
    "\x07",
    "\x0b",
    "\x7f",
    "\x85",
    "\xad",
    "\u200b",
    "\ufeff",
    "\ufffd",
  ],
)
def test_a_dropped_character_joins_its_neighbours(lower, cased, dropped):
  for tokenizer in (lower, cased):
    pieces = _pieces(tokenizer, f"a{dropped}b a")
    assert pieces == [("a", 0, 1), ("##b", 2, 3), ("a", 4, 5)]


@pytest.mark.parametrize(
  "space", [" ", "\t", "\n", "\r", "\xa0", "\u2009", "\u2028", "\u3000"]
)
def test_every_white_space_separates_words(lower, space):
  assert _pieces(lower, f"a{space}b") == [("a", 0, 1), ("b", 2, 3)]


def test_every_cjk_character_is_a_word(lower):
  assert _pieces(lower, "a中文b") == [
    ("a", 0, 1),
    ("中", 1, 2),
    ("文", 2, 3),
    ("b", 3, 4),
  ]


def test_punctuation_is_a_word_and_a_currency_sign_is_not(lower):
  assert _pieces(lower, "a!b") == [("a", 0, 1), ("!", 1, 2), ("b", 2, 3)]
  assert _pieces(lower, "a€") == [("a", 0, 1), ("##€", 1, 2)]


def test_the_whole_word_is_unknown_when_a_part_of_it_is(lower):
  assert _pieces(lower, "abz b") == [("[UNK]", 0, 3), ("b", 4, 5)]


def test_folding_is_canonical_and_not_by_compatibility(lower):
  assert _pieces(lower, "½") == [("½", 0, 1)]


def test_special_tokens_in_the_text_are_split_like_any_text(lower):
  assert _pieces(lower, "[SEP]") == [
    ("[UNK]", 0, 1),
    ("[UNK]", 1, 4),
    ("[UNK]", 4, 5),
  ]


def test_a_word_of_200_characters_is_split_and_one_of_201_is_unknown(lower):
  assert _pieces(lower, "a" * 200) == [
    ("##a" if i else "a", i, i + 1) for i in range(200)
  ]
  assert _pieces(lower, "b " + "a" * 201 + "! b") == [
    ("b", 0, 1),
    ("[UNK]", 2, 203),
    ("!", 203, 204),
    ("b", 205, 206),
  ]


def test_a_word_is_measured_without_its_accents(lower):
  pieces = _pieces(lower, "a\u0301" * 200)
  assert [piece[0] for piece in pieces] == ["a"] + 199 * ["##a"]
  assert pieces[-1] == ("##a", 398, 400)


def test_dotted_capital_i_becomes_i(lower):
  assert _pieces(lower, "İstanbul!") == [("istanbul", 0, 8), ("!", 8, 9)]


def test_a_sigma_at_the_end_of_a_word_becomes_final(lower):
  assert _pieces(lower, "ΣΑΣ") == [("σας", 0, 3)]


def test_text_behind_nul_is_lower_cased_too(lower):
  assert _pieces(lower, "A\x00 A") == [("a", 0, 1), ("a", 3, 4)]


def test_invalid_utf8_counts_as_one_dropped_character(lower):
  assert _pieces(lower, b"a \xff b") == [("a", 0, 1), ("b", 4, 5)]


def test_an_empty_batch_has_no_rows(lower):
  tokens = lower(tf.constant([], tf.string))
  for part in tokens:
    assert part.to_list() == []
    assert part.dtype == tf.int32


def test_empty_texts_have_no_tokens_wherever_they_stand(lower):
  tokens = lower(tf.constant(["", "a", "", " ", "b", ""]))
  a, b = _VOCABULARY.index("a"), _VOCABULARY.index("b")
  assert tokens.ids.to_list() == [[], [a], [], [], [b], []]
  assert tokens.char_starts.to_list() == [[], [0], [], [], [0], []]
  assert lower(tf.constant(["", ""])).char_ends.to_list() == [[], []]


def test_words_of_two_texts_never_join(lower):
  assert lower(tf.constant(["a", "b"])).ids.to_list() == [
    [_VOCABULARY.index("a")],
    [_VOCABULARY.index("b")],
  ]


def test_gather_repeats_rows(lower):
  tokens = lower(tf.constant(["a", "b!"])).gather(tf.constant([1, 0, 1]))
  assert tokens.char_ends.to_list() == [[1, 2], [1], [1, 2]]


def test_eager_graph_and_tf_data_agree(lower):
  texts = tf.constant(["É a!", "", "中文 (1895)"])
  eager = [part.to_list() for part in lower(texts)]
  graph = tf.function(lower.call)(texts)
  assert [part.to_list() for part in graph] == eager
  dataset = tf.data.Dataset.from_tensors(texts).map(lower)
  from_data = next(iter(dataset))
  assert [part.to_list() for part in from_data] == eager


def test_get_config_rebuilds_the_layer(cased):
  rebuilt = WordPieceTokenizer.from_config(cased.get_config())
  assert _pieces(rebuilt, "é a") == _pieces(cased, "é a")


def test_a_vocabulary_without_special_tokens_is_refused():
  with pytest.raises(ValueError, match=r"lacks \[CLS\], \[SEP\]"):
    WordPieceTokenizer(["[UNK]", "a"])


@pytest.mark.parametrize("more", [[], ["a" * 300]])
def test_a_vocabulary_that_is_none_of_bert_is_refused(more):
  with pytest.raises(
    ValueError, match=r"cannot be used: .*vocab\.txt of a BERT"
  ):
    WordPieceTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *more])


@pytest.mark.parametrize("case", ["lower", "cased"])
def test_tokens_of_difficult_strings_lie_in_them_in_order(
  goldens, read_json, case
):
  rows = read_json(goldens / f"tokenization_{case}.jsonl.gz")
  texts = [text for text, _ in rows]
  assert len(texts) > 2000
  tokenizer = WordPieceTokenizer(
    load_vocabulary(str(goldens / "tiny_ckpt" / "vocab.txt")), case == "lower"
  )
  for first in range(0, len(texts), _NUM_BATCH):
    batch = texts[first : first + _NUM_BATCH]
    tokens = tokenizer(tf.constant(batch))
    for text, starts, ends in zip(
      batch,
      tokens.char_starts.to_list(),
      tokens.char_ends.to_list(),
      strict=True,
    ):
      _check_offsets(text, starts, ends)


def _check_offsets(text, starts, ends):
  """Tokens lie in the text, none is empty and none begins before another."""
  assert starts == sorted(starts), text
  assert ends == sorted(ends), text
  assert all(s < e for s, e in zip(starts, ends, strict=True)), text
  assert not starts or (starts[0] >= 0 and ends[-1] <= len(text)), text
