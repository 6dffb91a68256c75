"""Sequences after masking: decisions, boundaries, reproducibility."""

import collections

import numpy as np
import pytest

from bert_span.pretraining.masking.masked_sequence import (
  SequenceMasker,
  continuation_table,
  word_starts,
)
from bert_span.pretraining.masking.span_masking import DrawnSpan
from bert_span.pretraining.options import MaskingOptions

_SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
_WORDS = [f"w{i}" for i in range(60)] + [f"##s{i}" for i in range(30)]
VOCABULARY = _SPECIALS + _WORDS
_MASK_ID = 4
_FIRST_CONTINUATION = VOCABULARY.index("##s0")
_LIMIT_2 = 13.816  # chi2.ppf(1 - 1e-3, 2)


def texts(count, seed=0, longest=124):
  rng = np.random.default_rng(seed)
  for number in range(count):
    length = int(rng.integers(1, longest))
    yield number, rng.integers(5, len(VOCABULARY), length).astype(np.int32)


def masked_positions(masked):
  return [
    position
    for span in masked.spans
    for position in range(span.token_start, span.token_end + 1)
  ]


@pytest.mark.parametrize("masking", ["span", "word", "subword"])
def test_specials_are_never_masked_nor_drawn(masking):
  masker = SequenceMasker(VOCABULARY, MaskingOptions(masking=masking))
  for number, text in texts(200):
    masked = masker(text, 0, number)
    assert masked.original_ids.tolist() == [2, *text.tolist(), 3]
    assert masked.input_ids[0] == 2 and masked.input_ids[-1] == 3
    changed = masked.input_ids != masked.original_ids
    assert set(masked.input_ids[changed]) <= {_MASK_ID, *range(5, 95)}
    assert set(np.flatnonzero(changed)) <= set(masked_positions(masked))


@pytest.mark.parametrize("masking", ["span", "word"])
def test_only_whole_words_are_masked(masking):
  masker = SequenceMasker(VOCABULARY, MaskingOptions(masking=masking))
  for number, text in texts(200, seed=1):
    masked = masker(text, 0, number)
    ids = masked.original_ids
    for span in masked.spans:
      starts_text = span.token_start == 1
      assert starts_text or ids[span.token_start] < _FIRST_CONTINUATION
      assert ids[span.token_end + 1] < _FIRST_CONTINUATION
      begun = ids[span.token_start : span.token_end + 1] < _FIRST_CONTINUATION
      assert span.word_count == begun[1:].sum() + 1


def test_a_span_has_one_decision_and_its_tokens_follow_it():
  masker = SequenceMasker(VOCABULARY, MaskingOptions())
  seen = collections.Counter()
  for number, text in texts(300, seed=2):
    masked = masker(text, 0, number)
    for span in masked.spans:
      part = slice(span.token_start, span.token_end + 1)
      after, before = masked.input_ids[part], masked.original_ids[part]
      seen[span.decision] += 1
      if span.decision == "mask":
        assert (after == _MASK_ID).all()
      elif span.decision == "keep":
        assert (after == before).all()
      else:
        assert (after != _MASK_ID).all()
        if len(after) > 4:  # drawn for every position: never all the same
          assert len(set(after.tolist())) > 1
  assert set(seen) == {"mask", "random", "keep"}


@pytest.mark.parametrize("masking", ["span", "word", "subword"])
def test_decisions_are_80_10_10(masking):
  """Chi-square, 2 degrees of freedom, level 0.001, seed 3."""
  masker = SequenceMasker(VOCABULARY, MaskingOptions(masking=masking, seed=3))
  counts = collections.Counter()
  for number, text in texts(1500, seed=3):
    counts.update(span.decision for span in masker(text, 0, number).spans)
  total = sum(counts.values())
  expected = {"mask": 0.8 * total, "random": 0.1 * total, "keep": 0.1 * total}
  statistic = sum((counts[d] - e) ** 2 / e for d, e in expected.items())
  assert total > 3000
  assert statistic < _LIMIT_2


@pytest.mark.parametrize(
  ("masking", "drawn", "expected"),
  [
    # Adjacent spans are one span.
    (
      "span",
      [(5, 2, 2), (9, 1, 1), (3, 2, 4)],
      [(4, 7, 4, (4, 2), 3, 8), (10, 10, 1, (1,), 9, 11)],
    ),
    # Adjacent words have their own decisions but share boundaries.
    (
      "word",
      [(4, 1, 1), (3, 1, 1)],
      [(4, 4, 1, (1,), 3, 6), (5, 5, 1, (1,), 3, 6)],
    ),
    # A span at an edge has no boundary there.
    (
      "span",
      [(0, 2, 2), (10, 2, 2)],
      [(1, 2, 2, (2,), None, 3), (11, 12, 2, (2,), 10, None)],
    ),
  ],
)
def test_drawn_spans_are_joined_and_get_boundaries(
  monkeypatch, masking, drawn, expected
):
  monkeypatch.setattr(
    "bert_span.pretraining.masking.masked_sequence.draw_spans",
    lambda *_: [DrawnSpan(*span) for span in drawn],
  )
  masker = SequenceMasker(VOCABULARY, MaskingOptions(masking=masking))
  spans = masker(np.arange(5, 17, dtype=np.int32), 0, 0).spans
  assert [(*span[:4], *span[5:]) for span in spans] == expected


def test_the_mask_depends_on_seed_epoch_and_number_alone():
  text = np.arange(5, 65, dtype=np.int32)

  def mask(seed=1, epoch=2, number=3, other_call=False):
    masker = SequenceMasker(VOCABULARY, MaskingOptions(seed=seed))
    if other_call:
      masker(text, 0, 0)
    return masker(text, epoch, number).input_ids.tolist()

  assert mask() == mask() == mask(other_call=True)
  different = [mask(), mask(seed=2), mask(epoch=3), mask(number=4)]
  assert len({tuple(ids) for ids in different}) == 4


def test_a_mask_of_a_seed_stays_what_it_was():
  """Written down once: masks must not change from version to version."""
  masker = SequenceMasker(VOCABULARY, MaskingOptions(seed=7))
  masked = masker(np.arange(5, 45, dtype=np.int32), 0, 0)
  assert [
    (s.token_start, s.token_end, s.drawn_word_counts, s.decision)
    for s in masked.spans
  ] == [(8, 9, (6,), "mask"), (34, 37, (4,), "random")]
  assert masked.input_ids[8:10].tolist() == [4, 4]
  assert masked.input_ids[34:38].tolist() == [5, 78, 76, 47]


def test_a_vocabulary_without_mask_is_refused():
  with pytest.raises(ValueError, match=r"lacks \[MASK\]"):
    SequenceMasker(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a"], MaskingOptions())


@pytest.mark.parametrize(
  ("ids", "starts"),
  [
    ([1, 2, 3, 4, 5, 2], [0, 1, 4, 5]),  # the mill ##er ##s . mill
    ([3, 4, 1], [0, 2]),  # The rest of a cut word is a word.
    ([], []),
  ],
)
def test_a_word_starts_at_every_piece_that_does_not_continue_one(ids, starts):
  table = continuation_table(["[PAD]", "the", "mill", "##er", "##s", ".", "##"])
  assert table.tolist() == [False, False, False, True, True, False, False]
  assert word_starts(np.array(ids, np.int64), table).tolist() == starts
