"""Arrays of masked sequences, and the targets of both objectives."""

import numpy as np

from bert_span.pretraining.masking import (
  KEYS,
  MaskedSequence,
  MaskedSpan,
  masked_arrays,
  prediction_targets,
)
from bert_span.pretraining.options import MaskingOptions

# [CLS] and 14 tokens, [SEP]; the id of a token is 100 + its position.
_IDS = np.arange(100, 116, dtype=np.int32)


def targets_of(*spans, max_boundary_targets=15):
  masked = MaskedSequence(_IDS, _IDS, spans)
  targets = prediction_targets(masked, max_boundary_targets)
  return {key: values.tolist() for key, values in targets.items()}


def test_a_span_at_an_edge_is_predicted_by_the_masked_language_model_alone():
  assert targets_of(
    MaskedSpan(1, 2, 2, (2,), "mask", None, 3),
    MaskedSpan(14, 14, 1, (1,), "keep", 13, None),
  ) == {
    "masked_positions": [1, 2, 14],
    "masked_ids": [101, 102, 114],
    "sbo_lefts": [0] * 3,
    "sbo_rights": [0] * 3,
    "sbo_positions": [0] * 3,
  }


def test_only_the_first_tokens_of_a_span_are_predicted_from_its_boundaries():
  span = MaskedSpan(3, 8, 6, (6,), "random", 2, 9)
  targets = targets_of(span, max_boundary_targets=4)
  assert targets["masked_positions"] == [3, 4, 5, 6, 7, 8]
  assert targets["sbo_positions"] == [1, 2, 3, 4, 0, 0]
  assert targets["sbo_lefts"] == [2, 2, 2, 2, 0, 0]


def test_adjacent_words_count_from_the_start_of_both():
  targets = targets_of(
    MaskedSpan(5, 5, 1, (1,), "mask", 4, 8),
    MaskedSpan(6, 7, 1, (1,), "keep", 4, 8),
  )
  assert targets["sbo_positions"] == [1, 2, 3]


def test_the_figure_of_the_paper_as_a_padded_batch():
  ids = np.arange(100, 112, dtype=np.int32)
  after = ids.copy()
  after[5:9] = 4
  span = MaskedSpan(5, 8, 4, (4,), "mask", 4, 9)
  edge = MaskedSpan(10, 10, 1, (1,), "keep", 9, None)
  masked = MaskedSequence(ids, after, (span, edge))
  batch = masked_arrays([masked], 14, MaskingOptions(max_predictions=7))
  # There is no pair task.
  assert tuple(batch) == KEYS
  assert {key: values.tolist() for key, values in batch.items()} == {
    "input_ids": [[*after.tolist(), 0, 0]],
    "input_mask": [[1] * 12 + [0, 0]],
    "masked_positions": [[5, 6, 7, 8, 10, 0, 0]],
    "masked_ids": [[105, 106, 107, 108, 110, 0, 0]],
    "sbo_lefts": [[4, 4, 4, 4, 0, 0, 0]],
    "sbo_rights": [[9, 9, 9, 9, 0, 0, 0]],
    "sbo_positions": [[1, 2, 3, 4, 0, 0, 0]],
  }
  assert {values.dtype for values in batch.values()} == {np.dtype("int32")}
