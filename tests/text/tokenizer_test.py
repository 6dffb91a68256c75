"""WordPieces and their offsets: by hand, then for difficult strings."""

import resource
import threading

import pytest
import tensorflow as tf

from bert_span.text import tokenizer as tokenizer_lib
from bert_span.text.tokenizer import WordPieceTokenizer
from bert_span.text.vocabulary import WordPieces

_VOCABULARY = [
  *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "##a", "b", "##b", "e", "é"),
  *("etienne", "istanbul", "σας", "σασ", "中", "文", "1895", "1943"),
  *("!", "(", ")", "-", ".", "½", "€", "##€"),
]


@pytest.fixture(scope="module")
def lower():
  return WordPieceTokenizer(_VOCABULARY)


def _pieces(tokenizer, text):
  """[(token, char_start, char_end), ..] of a text."""
  ids, starts, ends = (part.to_list()[0] for part in tokenizer([text]))
  tokens = [tokenizer.vocabulary[token] for token in ids]
  return list(zip(tokens, starts, ends, strict=True))


@pytest.mark.parametrize(
  ("text", "pieces"),
  [
    # The example of the docstring.
    (
      "Étienne (1895-1943).",
      [
        *(("etienne", 0, 7), ("(", 8, 9), ("1895", 9, 13), ("-", 13, 14)),
        *(("1943", 14, 18), (")", 18, 19), (".", 19, 20)),
      ],
    ),
    # A composed accent is one character, a decomposed one is part of a token.
    ("é a", [("e", 0, 1), ("a", 2, 3)]),
    ("e\u0301 a", [("e", 0, 2), ("a", 3, 4)]),
    ("a\u0301\u0301b!", [("a", 0, 3), ("##b", 3, 4), ("!", 4, 5)]),
    # Without a letter it is dropped.
    (" \u0301 a", [("a", 3, 4)]),
    # Every CJK character is a word, and so is punctuation, but not a currency.
    ("a中文b", [("a", 0, 1), ("中", 1, 2), ("文", 2, 3), ("b", 3, 4)]),
    ("a€", [("a", 0, 1), ("##€", 1, 2)]),
    # A part that is unknown makes the whole word unknown.
    ("abz b", [("[UNK]", 0, 3), ("b", 4, 5)]),
    # Normalization is canonical, not by compatibility.
    ("½", [("½", 0, 1)]),
    # Special tokens in the text are no special tokens.
    ("[SEP]", [("[UNK]", 0, 1), ("[UNK]", 1, 4), ("[UNK]", 4, 5)]),
    ("İstanbul!", [("istanbul", 0, 8), ("!", 8, 9)]),
    # A sigma at the end of a word becomes a final one.
    ("ΣΑΣ", [("σας", 0, 3)]),
    # Text after NUL is lower-cased, too.
    ("A\x00 A", [("a", 0, 1), ("a", 3, 4)]),
    # Invalid UTF-8 counts as one dropped character.
    (b"a \xff b", [("a", 0, 1), ("b", 4, 5)]),
  ],
)
def test_words_and_their_offsets(lower, text, pieces):
  assert _pieces(lower, text) == pieces


def test_a_text_that_is_no_batch_is_refused_and_the_next_thread_is_answered():
  tokenizer = WordPieceTokenizer(_VOCABULARY)
  texts = tf.data.Dataset.from_tensor_slices(["a b", "b"])
  with pytest.raises(ValueError, match="rank"):
    texts.map(tokenizer)
  found = []
  thread = threading.Thread(
    target=lambda: found.extend(texts.batch(2).map(tokenizer)), daemon=True
  )
  thread.start()
  thread.join(60)
  assert [len(row) for row in found[0].ids.to_list()] == [2, 1]


@pytest.mark.large
def test_pieces_of_texts_have_the_same_tokens(lower, monkeypatch):
  long = "a" * 201 + " ΣΑΣ ΣΑΣ"
  texts = ["", "é a\u0301 \n中文b", " " * 9, long, "文a文文", ""]
  whole = lower(texts)
  assert whole.ids.row_lengths().numpy().tolist() == [0, 5, 0, 3, 4, 0]
  assert lower(tf.constant([], tf.string)).ids.to_list() == []
  for piece_bytes in (1, 7, 60):
    monkeypatch.setattr(tokenizer_lib, "_PIECE_BYTES", piece_bytes)
    fresh = WordPieceTokenizer(_VOCABULARY)  # A graph keeps the size.
    found = tf.function(fresh.call)(tf.constant(texts))
    for part, expected in zip(found, whole, strict=True):
      assert part.to_list() == expected.to_list()


@pytest.mark.large
def test_a_long_text_takes_little_memory(lower):
  tokenize = tf.function(lower.call, reduce_retracing=True)
  tokenize(tf.constant(["a b"]))
  before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
  for text in ("a b 1895 " * 400_000, "文" * 1_200_000):  # 3.6 MB
    tokens = tokenize(tf.constant([text]))
    assert tokens.ids.values.shape == [1_200_000]
  grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
  assert grown < 200_000  # kilobytes


@pytest.mark.parametrize("keeps_accents", [True, False])
def test_cased_keeps_case_and_accents(keeps_accents):
  cased = WordPieceTokenizer(
    _VOCABULARY, do_lower_case=False, keeps_accents=keeps_accents
  )
  assert _pieces(cased, "é E a") == [("é", 0, 1), ("[UNK]", 2, 3), ("a", 4, 5)]
  assert _pieces(cased, "e\u0301") == [("[UNK]", 0, 2)]


def test_lower_case_with_accents():
  kept = WordPieceTokenizer(_VOCABULARY, keeps_accents=True)
  assert _pieces(kept, "É A") == [("é", 0, 1), ("a", 2, 3)]
  # Nothing is composed, and a sigma at the end of a word is no final one.
  assert _pieces(kept, "E\u0301 a") == [("[UNK]", 0, 2), ("a", 3, 4)]
  assert _pieces(kept, "ΣΑΣ") == [("σασ", 0, 3)]
  # Two characters of one: "i" and a dot.
  dotted = WordPieceTokenizer([*_VOCABULARY, "i", "##\u0307"], True, True)
  assert _pieces(dotted, "İ a") == [
    *(("i", 0, 1), ("##\u0307", 0, 1), ("a", 2, 3)),
  ]
  layer = WordPieceTokenizer.from_config(kept.get_config())
  assert layer.full_vocabulary == WordPieces(_VOCABULARY, True)
  with pytest.raises(ValueError, match="accents"):
    WordPieceTokenizer(kept.full_vocabulary)


def test_chinese_characters_that_are_no_words(monkeypatch):
  tokens = [*_VOCABULARY, "##中", "中文", "\U00020000", "##\u4e9b"]
  joined = WordPieceTokenizer(tokens, joins_chinese=True)
  assert _pieces(joined, "a中文 中文中!") == [
    *(("[UNK]", 0, 3), ("中文", 4, 6), ("##中", 6, 7), ("!", 7, 8)),
  ]
  assert _pieces(joined, "\U00020000中\u4e9b É") == [
    *(("\U00020000", 0, 1), ("##中", 1, 2), ("##\u4e9b", 2, 3), ("e", 4, 5)),
  ]
  # No word is cut where a long text is.
  monkeypatch.setattr(tokenizer_lib, "_PIECE_BYTES", 7)
  pieces = _pieces(joined, "中文中中中中中 中文")
  assert [start for _, start, _ in pieces] == [0, 2, 3, 4, 5, 6, 8]


def test_a_word_of_201_characters_without_accents_is_unknown(lower):
  assert _pieces(lower, "a" * 200) == [
    ("##a" if i else "a", i, i + 1) for i in range(200)
  ]
  assert _pieces(lower, "a" * 201 + "!") == [("[UNK]", 0, 201), ("!", 201, 202)]
  pieces = _pieces(lower, "a\u0301" * 200)
  assert [piece[0] for piece in pieces] == ["a"] + 199 * ["##a"]
  assert pieces[-1] == ("##a", 398, 400)


@pytest.mark.parametrize("more", [[], ["a\0b"]])
def test_special_tokens_alone_or_u_0000_are_no_vocabulary(more):
  tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *more]
  with pytest.raises(ValueError, match=rf" {len(tokens)} tokens.*vocab\.txt"):
    WordPieceTokenizer(tokens)
