"""Vocabularies: kinds, added tokens, and those that are refused."""

import pytest

from bert_span.text.sentencepiece_model import SentencePieces
from bert_span.text.vocabulary import (
  BYTE_PAIRS,
  MODERNBERT_PAIRS,
  SENTENCE_PIECES,
  WORD_PIECES,
  AddedToken,
  BytePairs,
  ExtendedVocabulary,
  ModernBertPairs,
  WordPieces,
  check_merges,
  check_vocabulary,
  extended,
  is_cased,
  split_vocabulary,
  vocabulary_kind,
  vocabulary_sha256,
)

_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a"]
_Q, _A = AddedToken("[Q]"), AddedToken("a", normalized=True)


@pytest.mark.parametrize(
  ("vocabulary", "kind"),
  [
    (_TOKENS, WORD_PIECES),
    (WordPieces(_TOKENS, keeps_accents=True), WORD_PIECES),
    (BytePairs(["a"], []), BYTE_PAIRS),
    (ModernBertPairs(["a"], []), MODERNBERT_PAIRS),
    (SentencePieces("", "xlm-roberta"), SENTENCE_PIECES),
  ],
  ids=["list", "WordPieces", "BytePairs", "ModernBertPairs", "SentencePieces"],
)
def test_a_vocabulary_has_its_kind_with_added_tokens_too(vocabulary, kind):
  assert vocabulary_kind(vocabulary) == kind
  with_tokens = ExtendedVocabulary(vocabulary, (_Q,))
  assert vocabulary_kind(with_tokens) == kind
  assert split_vocabulary(with_tokens) == (vocabulary, (_Q,))
  assert split_vocabulary(vocabulary) == (vocabulary, ())


def test_added_tokens_have_the_ids_after_the_vocabulary_s_or_their_own():
  found = extended(_TOKENS, [(_Q, 5), (_A, 4), (_Q, None)], "a.json")
  assert found == ExtendedVocabulary(_TOKENS, (_Q, _A, _Q))
  assert found.tokens == [*_TOKENS, "[Q]"]
  pairs = ExtendedVocabulary(BytePairs(["a"], []), (_A, _Q))
  assert pairs.tokens == ["a", "[Q]"]
  assert extended(_TOKENS, [], "a.json") is _TOKENS
  with pytest.raises(ValueError, match=r"a\.json.*'\[Q\]'.* 5.*: 6"):
    extended(_TOKENS, [(_Q, 6)], "a.json")


@pytest.mark.parametrize(
  ("vocabulary", "named"),
  [
    ([], r"\[UNK\], \[CLS\], \[SEP\]"),
    (["[UNK]", "[SEP]", "a"], r"\[CLS\] .* 3 tokens"),
    ([*_TOKENS, "b", "a"], "'a'"),
    ([*_TOKENS, "##" + "é" * 128 + "a"], "256 bytes.* 131 "),
    (BytePairs(["a"], []), BYTE_PAIRS),
    (WordPieces(_TOKENS, joins_chinese=True), "Chinese"),
    (ExtendedVocabulary(_TOKENS, (_Q,)), r"'\[Q\]'"),
  ],
)
def test_what_is_no_vocab_txt_of_a_bert_is_refused(vocabulary, named):
  with pytest.raises(ValueError, match=f"^my vocabulary.*{named}"):
    check_vocabulary(vocabulary, "my vocabulary")


def test_a_token_of_256_bytes_is_the_longest():
  check_vocabulary([*_TOKENS, "##" + "é" * 128, "b" * 256])


@pytest.mark.parametrize(
  "merge", ["ab", "a b c", "a  b", " a b", 1, ["a", "b"]]
)
def test_a_merge_is_two_tokens_with_a_space_between_them(merge):
  check_merges(["a b", "日 \n"], "merges.txt")
  with pytest.raises(ValueError, match=r"merges\.txt"):
    check_merges(["a b", merge], "merges.txt")


@pytest.mark.parametrize(
  ("tokens", "expected"),
  [
    (["[UNK]", "[CLS]", "[unused1]", "a", "B"], True),
    (["[UNK]", "[CLS]", "[unused1]", "a", "b", "é", "水"], False),
    (["a"] * 98 + ["B"], True),
    (["a"] * 99 + ["B"], False),  # 1 % is not more than 1 %.
    (BytePairs(["a", "B"], []), True),
  ],
  ids=["cased", "uncased", "above", "bound", "pairs"],
)
def test_over_1_percent_of_tokens_with_capitals_are_a_cased_model_s(
  tokens, expected
):
  assert is_cased(tokens) is expected


def test_the_digest_is_that_of_the_tokens_one_a_line():
  # printf 'a\nb' | sha256sum
  assert vocabulary_sha256(["a", "b"]) == (
    "7e18f737311b2dc3b2f269dd78396b0351f14fb66efa879f768cb23181883c78"
  )
