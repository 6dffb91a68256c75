"""Which tokens are masked, and how; the same masks for ever."""

import collections

import numpy as np
import pytest

from bert_span.pretraining.masking import (
  DrawnSpan,
  MaskedSequence,
  MaskedSpan,
  SequenceMasker,
  draw_spans,
  length_thresholds,
  masked_arrays,
  row_lengths,
  uniform_draws,
)
from bert_span.pretraining.options import MaskingOptions

_SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
_WORDS = [f"w{i}" for i in range(60)] + [f"##s{i}" for i in range(30)]
VOCABULARY = _SPECIALS + _WORDS
_MASK_ID = 4
_FIRST_CONTINUATION = VOCABULARY.index("##s0")
# chi2.ppf(1 - 1e-3, degrees of freedom): P(above) = 0.1 % if all is right.
_CHI_SQUARE_LIMIT = {2: 13.816, 9: 27.877, 11: 31.264}


def chi_square(counts, probabilities):
  total = sum(counts)
  return sum(
    (count - total * p) ** 2 / (total * p)
    for count, p in zip(counts, probabilities, strict=True)
  )


def texts(count, seed=0, longest=124):
  rng = np.random.default_rng(seed)
  for number in range(count):
    length = int(rng.integers(1, longest))
    yield number, rng.integers(5, len(VOCABULARY), length).astype(np.int32)


@pytest.mark.parametrize("masking", ["span", "word", "subword"])
def test_spans_hold_whole_words_and_follow_their_decision(masking):
  masker = SequenceMasker(VOCABULARY, MaskingOptions(masking=masking))
  seen = collections.Counter()
  for number, text in texts(200):
    masked = masker(text, 0, number)
    ids = masked.original_ids
    assert ids.tolist() == [2, *text.tolist(), 3]
    unmasked = np.ones(len(ids), bool)
    for span in masked.spans:
      part = slice(span.token_start, span.token_end + 1)
      assert unmasked[part].all() and 0 < part.start < part.stop < len(ids)
      unmasked[part] = False
      after, before = masked.input_ids[part], ids[part]
      seen[span.decision] += 1
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
  assert set(seen) == {"mask", "random", "keep"}


@pytest.mark.parametrize("masking", ["span", "word", "subword"])
def test_decisions_are_80_10_10(masking):
  """Chi-square, 2 degrees of freedom, level 0.001, seed 3."""
  masker = SequenceMasker(VOCABULARY, MaskingOptions(masking=masking, seed=3))
  counts = collections.Counter()
  for number, text in texts(1500, seed=3):
    counts.update(span.decision for span in masker(text, 0, number).spans)
  found = [counts[decision] for decision in ("mask", "random", "keep")]
  assert sum(found) > 3000
  assert chi_square(found, [0.8, 0.1, 0.1]) < _CHI_SQUARE_LIMIT[2]


@pytest.mark.parametrize(
  ("masking", "drawn", "expected"),
  [
    # Adjacent spans are one span; one at an edge has no boundary there.
    (
      "span",
      [(5, 2, 2), (10, 2, 2), (3, 2, 4)],
      [(4, 7, 4, (4, 2), 3, 8), (11, 12, 2, (2,), 10, None)],
    ),
    # Adjacent words have their own decisions but share boundaries.
    (
      "word",
      [(4, 1, 1), (3, 1, 1)],
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


_THRESHOLDS = length_thresholds(MaskingOptions())
_PROBABILITIES = np.diff([0.0, *_THRESHOLDS, 1.0])


def draw_of_length(num_words):
  """A number in [0, 1) that draws so many words."""
  return ([0.0, *_THRESHOLDS])[num_words - 1] + 1e-9


_EIGHTHS = 1.5 / 8, 3.5 / 8, 4.5 / 8


def test_the_length_distribution_is_the_published_one():
  published = [0.2241, 0.1792, 0.1434, 0.1147, 0.0918]
  published += [0.0734, 0.0587, 0.0470, 0.0376, 0.0301]
  np.testing.assert_allclose(_PROBABILITIES, published, atol=5e-5)
  mean = sum((i + 1) * p for i, p in enumerate(_PROBABILITIES))
  assert round(mean, 2) == 3.80
  for masking in ("word", "subword"):
    assert length_thresholds(MaskingOptions(masking=masking)) == []


def test_lengths_of_100_000_drawn_spans_follow_the_formula():
  """Chi-square, 9 degrees of freedom, level 0.001, seed 8."""
  counts = collections.Counter()
  number = 0
  while sum(counts.values()) < 100_000:
    uniform = uniform_draws([8, 0, number])
    spans = draw_spans([1] * 510, 77, _THRESHOLDS, uniform)
    counts.update(span.drawn_words for span in spans)
    # Only the last span may be cut.
    *others, last = spans
    assert all(span.num_words == span.drawn_words for span in others)
    assert 1 <= last.num_words <= last.drawn_words
    number += 1
  statistic = chi_square(
    [counts[length] for length in range(1, 11)], _PROBABILITIES
  )
  assert statistic < _CHI_SQUARE_LIMIT[9]


def test_the_first_start_is_uniform_over_the_starts_where_the_span_fits():
  """Chi-square, 11 degrees of freedom, level 0.001, seed 9."""
  counts = collections.Counter()
  for number in range(24_000):
    uniform = uniform_draws([9, number])
    (span,) = draw_spans([1] * 12, 1, [], uniform)
    counts[span.first_word] += 1
  statistic = chi_square([counts[i] for i in range(12)], [1 / 12] * 12)
  assert statistic < _CHI_SQUARE_LIMIT[11]


@pytest.mark.parametrize(
  ("sizes", "budget", "draws", "spans"),
  [
    # The module's example.
    ([1] * 9 + [2, 1, 1], 2, [draw_of_length(4), 4.5 / 9], [(4, 2, 4)]),
    # A start that touches a masked word is drawn again: words 2 and 3 are
    # masked, and three words from 1 or 3 would touch them.
    (
      [1] * 10,
      5,
      [draw_of_length(2), 2.5 / 9, draw_of_length(3), *_EIGHTHS],
      [(2, 2, 2), (4, 3, 3)],
    ),
    # A span longer than every free place is shortened: four words do not fit
    # on either side of word 2, so after 8 blind tries two are taken.
    (
      [1] * 5,
      3,
      [draw_of_length(1), 0.5, draw_of_length(4), *[0.1] * 8, 0.9],
      [(2, 1, 1), (3, 2, 4)],
    ),
    # A text shorter than the drawn span is masked up to the budget.
    ([1, 1, 1], 1, [draw_of_length(10), 0.0], [(0, 1, 10)]),
  ],
)
def test_spans_follow_the_draws(sizes, budget, draws, spans):
  assert draw_spans(sizes, budget, _THRESHOLDS, iter(draws).__next__) == spans


@pytest.mark.parametrize(("masking", "seed"), [("span", 0), ("word", 1)])
def test_the_budget_is_met_in_every_sequence(masking, seed):
  """Never above it; below it only where no free word fits what is left."""
  rng = np.random.default_rng(seed)
  options = MaskingOptions(masking=masking)
  thresholds = length_thresholds(options)
  exact = 0
  for number in range(300):
    sizes = rng.integers(1, 5, rng.integers(1, 120)).tolist()
    budget = options.budget(sum(sizes))
    spans = draw_spans(sizes, budget, thresholds, uniform_draws([seed, number]))
    words = [w for span in spans for w in range(span.first_word, span.end_word)]
    assert len(words) == len(set(words))
    left = budget - sum(sizes[word] for word in words)
    assert left >= 0
    free = [size for i, size in enumerate(sizes) if i not in set(words)]
    assert left == 0 or not [size for size in free if size <= left]
    exact += left == 0
  assert exact > 250


def test_the_budget_is_rounded_up_without_an_error_of_floats():
  options = MaskingOptions()
  assert [options.budget(n) for n in (1, 6, 7, 13, 20, 40, 126, 510)] == [
    *(1, 1, 2, 2, 3, 6, 19, 77)
  ]
  assert MaskingOptions(max_predictions=5).budget(510) == 5


# [CLS] and 15 tokens, [SEP]; the id of a token is 100 + its position.
_IDS = np.arange(100, 117, dtype=np.int32)


def test_targets_and_boundaries_of_spans():
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
  lengths = row_lengths(19, MaskingOptions(max_predictions=12))
  batch = masked_arrays([MaskedSequence(_IDS, after, spans)], lengths, 4)
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
