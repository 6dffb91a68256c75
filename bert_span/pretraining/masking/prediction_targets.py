"""What a model is asked to predict of a masked sequence."""

from typing import NamedTuple

import numpy as np


class PredictionTargets(NamedTuple):
  """Masked tokens and the boundaries each is predicted from.

  Attributes:
    positions: int32 [targets], ascending; [CLS] has the position 0.
    ids: int32 [targets], the tokens before masking.
    sbo_lefts, sbo_rights: int32 [targets], positions of the span's boundary
      tokens; 0 where the span boundary objective does not ask for the token.
    sbo_positions: int32 [targets], place within the span, from 1; 0 likewise.
  """

  positions: np.ndarray
  ids: np.ndarray
  sbo_lefts: np.ndarray
  sbo_rights: np.ndarray
  sbo_positions: np.ndarray


def prediction_targets(masked, max_boundary_targets):
  """Lists the targets of a masked sequence.

  For the masked tokens s..e the boundaries are s - 1 and e + 1, and target i
  has the position i - s + 1. A span that touches the edge of the text has no
  target of the span boundary objective, nor have tokens behind its first
  `max_boundary_targets` ones.

  Example: with x5..x8 masked, the boundaries of all four are x4 and x9, and
  x6 has the position 2.

  Args:
    masked: `MaskedSequence`.
    max_boundary_targets: tokens of a span, the first ones, that its
      boundaries predict.

  Returns:
    `PredictionTargets`.
  """
  rows = []
  for span in masked.spans:
    left, right = span.left_boundary, span.right_boundary
    is_inside = left is not None and right is not None
    for position in range(span.token_start, span.token_end + 1):
      if is_inside and position - left <= max_boundary_targets:
        rows.append((position, left, right, position - left))
      else:
        rows.append((position, 0, 0, 0))
  table = np.array(rows, np.int32).reshape(-1, 4)  # [targets, 4]
  positions = table[:, 0]
  return PredictionTargets(
    positions, masked.original_ids[positions], *table[:, 1:].T
  )
