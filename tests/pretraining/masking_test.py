"""Which tokens are masked, and how; the same masks for ever."""

import collections

import numpy as np
import pytest

from bert_span.pretraining.masking import (
  SEQUENCE_KEYS,
  TARGET_KEYS,
  DrawnSpan,
  MaskedSequence,
  MaskedSpan,
  SequenceMasker,
  draw_spans,
  length_thresholds,
  masked_arrays,
  uniform_draws,
)
from bert_span.pretraining.options import MaskingOptions

_SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
_WORDS = [f"w{i}" for i in range(60)] + [f"##s{i}" for i in range(30)]
VOCABULARY = _SPECIALS + _WORDS
_MASK_ID = 4
_FIRST_CONTINUATION = VOCABULARY.index("##s0")


@pytest.mark.parametrize("masking", ["span", "word", "subword"])
def test_spans_hold_whole_words_and_follow_decisions_of_80_10_10(masking):
  """Chi-square, 2 degrees of freedom, level 0.001, seed 3."""
  masker = SequenceMasker(VOCABULARY, MaskingOptions(masking=masking, seed=3))
  counts = collections.Counter()
  rng = np.random.default_rng(3)
  for number in range(1500):
    length = int(rng.integers(1, 124))
    text = rng.integers(5, len(VOCABULARY), length).astype(np.int32)
    masked = masker(text, 0, number)
    counts.update(span.decision for span in masked.spans)
    ids = masked.original_ids
    assert ids.tolist() == [2, *text.tolist(), 3]
    unmasked = np.ones(len(ids), bool)
    for span in masked.spans:
      part = slice(span.token_start, span.token_end + 1)
      assert unmasked[part].all() and 0 < part.start < part.stop < len(ids)
      unmasked[part] = False
      after, before = masked.input_ids[part], ids[part]
      if span.decision == "mask":
        assert (after == _MASK_ID).all()
      elif span.decision == "keep":
        assert (after == before).all()
      else:  # Drawn for every position: never all the same.
        assert set(after) <= set(range(5, 95))
        assert len(after) <= 4 or len(set(after.tolist())) > 1
      if masking != "subword":
        begun = ids[part] < _FIRST_CONTINUATION
        assert begun[0] or part.start == 1
        assert ids[part.stop] < _FIRST_CONTINUATION
        assert span.word_count == begun[1:].sum() + 1
    np.testing.assert_array_equal(masked.input_ids[unmasked], ids[unmasked])
  found = [counts[decision] for decision in ("mask", "random", "keep")]
  assert sum(found) > 3000
  expected = sum(found) * np.array([0.8, 0.1, 0.1])
  # chi2.ppf(1 - 1e-3, 2): P(above) = 0.1 % if all is right.
  assert sum((found - expected) ** 2 / expected) < 13.816


@pytest.mark.parametrize(
  ("masking", "drawn", "expected"),
  [
    # Adjacent spans are one span; one at an edge has no boundary there.
    (
      "span",
      [(5, 7, 2), (10, 12, 2), (3, 5, 4)],
      [(4, 7, 4, (4, 2), 3, 8), (11, 12, 2, (2,), 10, None)],
    ),
    # The last token is the boundary of a span that ends before it.
    ("span", [(9, 11, 3)], [(10, 11, 2, (3,), 9, 12)]),
    # Adjacent words have their own decisions but share boundaries.
    (
      "word",
      [(4, 5, 1), (3, 4, 1)],
      [(4, 4, 1, (1,), 3, 6), (5, 5, 1, (1,), 3, 6)],
    ),
  ],
)
def test_drawn_spans_are_joined_and_get_boundaries(
  monkeypatch, masking, drawn, expected
):
  monkeypatch.setattr(
    "bert_span.pretraining.masking.draw_spans",
    lambda *_: [DrawnSpan(*span) for span in drawn],
  )
  masker = SequenceMasker(VOCABULARY, MaskingOptions(masking=masking))
  spans = masker(np.arange(5, 17, dtype=np.int32), 0, 0).spans
  assert [(*span[:4], *span[5:]) for span in spans] == expected


def test_the_mask_depends_on_seed_epoch_and_number_alone():
  text = np.arange(5, 65, dtype=np.int32)

  def mask(seed, epoch, number):
    masker = SequenceMasker(VOCABULARY, MaskingOptions(seed=seed))
    return tuple(masker(text, epoch, number).input_ids.tolist())

  first = mask(1, 2, 3)
  assert len({first, mask(2, 2, 3), mask(1, 3, 3), mask(1, 2, 4)}) == 4
  assert mask(1, 2, 3) == first


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


def test_a_vocabulary_without_mask_or_words_is_refused():
  for vocabulary in ([*_SPECIALS[:4], "a"], _SPECIALS):
    with pytest.raises(ValueError, match=r"\[MASK\]"):
      SequenceMasker(vocabulary, MaskingOptions())


_THRESHOLDS = length_thresholds("span")
# Numbers in [0, 1) that draw 1, 2, .. words.
_DRAWS = [threshold + 1e-9 for threshold in (0.0, *_THRESHOLDS)]


def test_the_length_distribution_is_the_published_one():
  published = [0.2241, 0.1792, 0.1434, 0.1147, 0.0918]
  published += [0.0734, 0.0587, 0.0470, 0.0376, 0.0301]
  probabilities = np.diff([0.0, *_THRESHOLDS, 1.0])
  np.testing.assert_allclose(probabilities, published, atol=5e-5)
  assert round(np.arange(1, 11) @ probabilities, 2) == 3.80
  for masking in ("word", "subword"):
    assert length_thresholds(masking) == []


@pytest.mark.parametrize(
  ("sizes", "budget", "draws", "spans"),
  [
    # The module's example.
    ([1] * 9 + [2, 1, 1], 2, [_DRAWS[3], 4.5 / 9], [(4, 6, 4)]),
    # A start that touches a masked word is drawn again: words 2 and 3 are
    # masked, and three words from 1 or 3 would touch them.
    (
      [1] * 10,
      5,
      [_DRAWS[1], 2.5 / 9, _DRAWS[2], 1.5 / 8, 3.5 / 8, 4.5 / 8],
      [(2, 4, 2), (4, 7, 3)],
    ),
    # A span longer than every free place is shortened: four words do not fit
    # on either side of word 2, so after 8 blind tries two are taken.
    (
      [1] * 5,
      3,
      [_DRAWS[0], 0.5, _DRAWS[3], *[0.1] * 8, 0.9],
      [(2, 3, 1), (3, 5, 4)],
    ),
    # A text shorter than the drawn span is masked up to the budget.
    ([1, 1, 1], 1, [_DRAWS[9], 0.0], [(0, 1, 10)]),
  ],
)
def test_spans_follow_the_draws(sizes, budget, draws, spans):
  assert draw_spans(sizes, budget, _THRESHOLDS, iter(draws).__next__) == spans


@pytest.mark.parametrize(("masking", "seed"), [("span", 0), ("word", 1)])
def test_the_budget_is_met_in_every_sequence(masking, seed):
  """Never above it; below it only where no free word fits what is left."""
  rng = np.random.default_rng(seed)
  thresholds = length_thresholds(masking)
  exact = 0
  for number in range(300):
    sizes = rng.integers(1, 5, rng.integers(1, 120))
    left = MaskingOptions().budget(int(sizes.sum()))
    uniform = uniform_draws([seed, number])
    for span in draw_spans(sizes.tolist(), left, thresholds, uniform):
      words = slice(span.first_word, span.end_word)
      assert sizes[words].all()  # No word is masked twice.
      left -= sizes[words].sum()
      sizes[words] = 0
    assert left >= 0 and not np.any((sizes > 0) & (sizes <= left))
    exact += left == 0
  assert exact > 250


# [CLS] and 15 tokens, [SEP]; the id of a token is 100 + its position.
_IDS = np.arange(100, 117, dtype=np.int32)


def test_targets_and_boundaries_of_spans(monkeypatch):
  monkeypatch.setattr("bert_span.pretraining.masking._MAX_BOUNDARY_TARGETS", 4)
  spans = (
    # At an edge only the masked language model predicts.
    MaskedSpan(1, 2, 2, (2,), "mask", None, 3),
    # Adjacent words count from the start of both.
    MaskedSpan(5, 5, 1, (1,), "mask", 4, 8),
    MaskedSpan(6, 7, 1, (1,), "keep", 4, 8),
    # Boundaries predict the first 4 tokens.
    MaskedSpan(9, 13, 5, (6,), "random", 8, 14),
    MaskedSpan(15, 15, 1, (1,), "keep", 14, None),
  )
  after = _IDS[::-1]
  lengths = dict.fromkeys(SEQUENCE_KEYS, 19) | dict.fromkeys(TARGET_KEYS, 12)
  batch = masked_arrays([MaskedSequence(_IDS, after, spans)], lengths)
  assert {values.dtype for values in batch.values()} == {np.dtype("int32")}
  # Padded with 0.
  assert {values[0, -1] for values in batch.values()} == {0}
  assert {key: values[0, :-1].tolist() for key, values in batch.items()} == {
    "input_ids": [*after.tolist(), 0],
    "input_mask": [1] * 17 + [0],
    "masked_positions": [1, 2, 5, 6, 7, 9, 10, 11, 12, 13, 15],
    "masked_ids": [101, 102, 105, 106, 107, 109, 110, 111, 112, 113, 115],
    "sbo_lefts": [0, 0, 4, 4, 4, 8, 8, 8, 8, 0, 0],
    "sbo_rights": [0, 0, 8, 8, 8, 14, 14, 14, 14, 0, 0],
    "sbo_positions": [0, 0, 1, 2, 3, 1, 2, 3, 4, 0, 0],
  }
