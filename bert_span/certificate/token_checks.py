"""Point 1: tokens."""

import tensorflow as tf

from bert_span.certificate.check import Tally
from bert_span.text.tokenizer import WordPieceTokenizer
from bert_span.text.vocabulary import CLS_TOKEN, SEP_TOKEN, UNKNOWN_TOKEN

_STRINGS_PER_BATCH = 500
# As run_squad: WordPiece knows no word of over 200 characters. No token of a
# vocabulary may have over 256 bytes in tensorflow-text.
_MAX_WORD_CHARACTERS = 200
_MAX_TOKEN_BYTES = 256
_SPECIAL = ("[PAD]", UNKNOWN_TOKEN, CLS_TOKEN, SEP_TOKEN, "[MASK]")


def check_tokens(goldens):
  """Compares the WordPieces, and the words they are made of.

  Strings whose tokens depend on the version of Unicode are set apart and
  counted in a note.

  Args:
    goldens: `GoldenFiles`.

  Returns:
    List of `Check`.
  """
  checks = []
  for case in ("lower", "cased"):
    sensitive = set(
      goldens.read(f"tokenization_unicode_version_sensitive_{case}.json")
    )
    rows = goldens.read(f"tokenization_{case}.jsonl.gz")
    checks.append(
      _compare(f"WordPieces, {case}", rows, sensitive, goldens.vocabulary, case)
    )
    words = goldens.read(f"tokenization_basic_{case}.jsonl.gz")
    # With every word in the vocabulary, WordPieces are whole words.
    expected = [(text, [_as_token(w) for w in row]) for text, row in words]
    distinct = {token for _, row in expected for token in row}
    vocabulary = [*_SPECIAL, *sorted(distinct - set(_SPECIAL))]
    checks.append(
      _compare(f"Words, {case}", expected, sensitive, vocabulary, case)
    )
  return checks


def _as_token(word):
  """What WordPiece makes of a word of its vocabulary."""
  is_short = (
    len(word) <= _MAX_WORD_CHARACTERS
    and len(word.encode("utf-8")) <= _MAX_TOKEN_BYTES
  )
  return word if is_short else UNKNOWN_TOKEN


def _compare(name, rows, sensitive, vocabulary, case):
  tokenizer = WordPieceTokenizer(vocabulary, do_lower_case=case == "lower")
  compared = [row for row in rows if row[0] not in sensitive]
  tally = Tally(name)
  for first in range(0, len(compared), _STRINGS_PER_BATCH):
    batch = compared[first : first + _STRINGS_PER_BATCH]
    tokens = tokenizer(tf.constant([text for text, _ in batch]))
    for (text, expected), ids in zip(batch, tokens.ids.to_list(), strict=True):
      ours = [vocabulary[i] for i in ids]
      tally.add(ours == expected, f"{text[:60]!r}")
  apart = len(rows) - len(compared)
  if apart:
    tally.note(
      f"{name}: {apart} strings set apart, whose tokens depend on the version "
      "of Unicode."
    )
  return tally.check()
