"""Targets of the masked language model and of the span boundary objective."""

import numpy as np

from bert_span.pretraining.masking.masked_sequence import (
  MaskedSequence,
  MaskedSpan,
)
from bert_span.pretraining.masking.prediction_targets import prediction_targets

# [CLS] and 14 tokens, [SEP]; the id of a token is 100 + its position.
_IDS = np.arange(100, 116, dtype=np.int32)


def targets_of(*spans, max_boundary_targets=15):
  masked = MaskedSequence(_IDS, _IDS, spans)
  return prediction_targets(masked, max_boundary_targets)


def test_the_figure_of_the_paper():
  """Super Bowl 50 was [a football championship tournament] to determine.

  The text's tokens are x1 .. : Super=1, Bowl=2, 50=3, was=4, a=5, football=6,
  championship=7, tournament=8, to=9, determine=10.
  """
  targets = targets_of(MaskedSpan(5, 8, 4, (4,), "mask", 4, 9))
  assert targets.positions.tolist() == [5, 6, 7, 8]
  assert targets.ids.tolist() == [105, 106, 107, 108]
  assert targets.sbo_lefts.tolist() == [4, 4, 4, 4]
  assert targets.sbo_rights.tolist() == [9, 9, 9, 9]
  assert targets.sbo_positions.tolist() == [1, 2, 3, 4]
  football = targets.positions.tolist().index(6)
  assert targets.sbo_positions[football] == 2


def test_a_span_at_an_edge_is_predicted_by_the_masked_language_model_alone():
  targets = targets_of(
    MaskedSpan(1, 2, 2, (2,), "mask", None, 3),
    MaskedSpan(14, 14, 1, (1,), "keep", 13, None),
  )
  assert targets.positions.tolist() == [1, 2, 14]
  assert targets.ids.tolist() == [101, 102, 114]
  assert not targets.sbo_lefts.any()
  assert not targets.sbo_rights.any()
  assert not targets.sbo_positions.any()


def test_only_the_first_tokens_of_a_span_are_predicted_from_its_boundaries():
  span = MaskedSpan(3, 8, 6, (6,), "random", 2, 9)
  targets = targets_of(span, max_boundary_targets=4)
  assert targets.positions.tolist() == [3, 4, 5, 6, 7, 8]
  assert targets.sbo_positions.tolist() == [1, 2, 3, 4, 0, 0]
  assert targets.sbo_lefts.tolist() == [2, 2, 2, 2, 0, 0]


def test_adjacent_words_count_from_the_beginning_of_both():
  targets = targets_of(
    MaskedSpan(5, 5, 1, (1,), "mask", 4, 8),
    MaskedSpan(6, 7, 1, (1,), "keep", 4, 8),
  )
  assert targets.sbo_positions.tolist() == [1, 2, 3]


def test_a_sequence_without_masked_tokens_has_no_targets():
  targets = targets_of()
  assert [part.shape for part in targets] == [(0,)] * 5
