"""ModernBertTokenizer: NFC, added tokens, and offsets into the given text."""

import itertools

import pytest
import tensorflow as tf
import tensorflow_text as tf_text
import tokenizers

from bert_span.text.modernbert_tokenizer import (
  COMBINING,
  ModernBertTokenizer,
)
from bert_span.text.vocabulary import AddedToken

_BYTES = tokenizers.pre_tokenizers.ByteLevel.alphabet()
_MERGES = ["Ã ©", "Ġ b", "l o", "lo w"]
# The published ones, but for the number of unused tokens.
_ADDED = [
  *("|||IP_ADDRESS|||", "|||EMAIL_ADDRESS|||", "|||PHONE_NUMBER|||"),
  *(" " * n for n in range(24, 1, -1)),
  *(f"[unused{n}]" for n in range(3)),
]
_TOKENS = [AddedToken(token, normalized=True) for token in _ADDED]
_SPECIAL = ["<|padding|>", "<|endoftext|>", "[UNK]", "[CLS]", "[SEP]", "[PAD]"]
_VOCABULARY = [
  *_ADDED,
  *_SPECIAL,
  *("[MASK]", *sorted(_BYTES), "Ã©", "Ġb", "lo", "low"),
]


@pytest.fixture(scope="module")
def tokenizer():
  return ModernBertTokenizer(_VOCABULARY, _MERGES, _TOKENS)


def _tokens(tokenizer, *texts):
  """[(token, char_start, char_end)] of each text."""
  columns = [x.to_list() for x in tokenizer(list(texts))]
  return [
    [
      (tokenizer.vocabulary[i], *offsets)
      for i, *offsets in zip(*row, strict=True)
    ]
    for row in zip(*columns, strict=True)
  ]


@pytest.mark.parametrize(
  ("text", "tokens"),
  [
    ("low b", [("low", 0, 3), ("Ġb", 4, 5)]),
    # A composed letter has the offsets of both characters.
    ("e\u0301b", [("Ã©", 0, 2), ("b", 2, 3)]),
    ("be\u0301", [("b", 0, 1), ("Ã©", 1, 3)]),
    # é and a mark that composes with nothing; the letter ends after the mark.
    (
      "be\u0301\u20e3b",
      [
        ("b", 0, 1),
        ("Ã©", 1, 4),
        *((byte, 1, 4) for byte in "âĥ£"),
        ("b", 4, 5),
      ],
    ),
    # Two letters that Unicode 16 composes, which RE2 does not know.
    (
      "\U00016d67\U00016d67b",
      [*((byte, 0, 2) for byte in "ðĸµ¨"), ("b", 2, 3)],
    ),
    # A mark alone, at the start of a text.
    ("\u0301b", [("Ì", 0, 1), ("ģ", 0, 1), ("b", 1, 2)]),
    # Three blanks are a token, also before a word; offsets leave out blanks.
    ("b   b", [("b", 0, 1), ("   ", 4, 4), ("b", 4, 5)]),
    # Of 27 blanks, 24 are the longest token.
    (" " * 27 + "b", [(" " * 24, 24, 24), ("   ", 27, 27), ("b", 27, 28)]),
    (" " * 25 + "b", [(" " * 24, 24, 24), ("Ġb", 25, 26)]),
    ("b[unused1]b", [("b", 0, 1), ("[unused1]", 1, 10), ("b", 10, 11)]),
    ("  [unused2] b", [("  ", 2, 2), ("[unused2]", 2, 11), ("Ġb", 12, 13)]),
    # A special token is ordinary characters.
    ("[UNK]", [(c, i, i + 1) for i, c in enumerate("[UNK]")]),
    # A final blank at the end of a text.
    ("b ", [("b", 0, 1), ("Ġ", 2, 2)]),
  ],
)
def test_tokens_and_their_offsets(tokenizer, text, tokens):
  assert _tokens(tokenizer, text) == [tokens]


def test_texts_of_a_batch_do_not_combine(tokenizer):
  found = _tokens(tokenizer, "e", "\u0301", "", "be\u0301")
  assert found == [
    [("e", 0, 1)],
    [("Ì", 0, 1), ("ģ", 0, 1)],
    [],
    [("b", 0, 1), ("Ã©", 1, 3)],
  ]
  assert tokenizer(tf.zeros([0], tf.string)).char_ends.to_list() == []


def test_a_window_has_the_special_tokens_of_bert(tokenizer):
  ids = tokenizer.cls_id, tokenizer.sep_id, tokenizer.pad_id
  assert [_VOCABULARY[i] for i in ids] == ["[CLS]", "[SEP]", "[PAD]"]
  assert tokenizer.num_separators == 1


@pytest.mark.large
def test_every_character_that_can_compose_with_the_one_before_it_is_known():
  """No other character is joined or moved by tensorflow-text."""

  def normalized(texts, form):
    texts = tf_text.normalize_utf8([text.encode() for text in texts], form)
    return [text.decode() for text in texts.numpy()]

  codes = (c for c in range(0x110000) if not 0xD800 <= c < 0xE000)
  characters = [chr(code) for code in codes]
  combines = tf.strings.regex_full_match(characters, COMBINING).numpy()
  known = {*itertools.compress(characters, combines)}
  parts, joined = (normalized(characters, form) for form in ("NFD", "NFC"))
  others = [c for c, p in zip(characters, parts, strict=True) if c == p]
  others = [character for character in others if character not in known]
  for template in (
    "\u0345{}",
    "{}\u0334",
  ):  # marks of the last class, the first
    texts = [template.format(character) for character in others]
    assert normalized(texts, "NFD") == texts
  seconds = {
    p[-1]
    for c, p, j in zip(characters, parts, joined, strict=True)
    if p != c == j
  }
  assert len(seconds) > 100
  assert seconds <= known
  pairs = zip(characters, parts, strict=True)
  assert {c for c, p in pairs if p[0] in known} <= known
