"""Batches of masked sequences as arrays, with the targets of both objectives.

A batch holds arrays [batch, seq_length]:

  input_ids          after masking, padded with 0
  input_mask         1 for WordPieces, 0 for padding

and arrays [batch, targets], padded with 0:

  masked_positions   positions of the masked tokens, counted from [CLS]
  masked_ids         the tokens before masking
  sbo_lefts          position of the token to the left of the span
  sbo_rights         position of the token to the right of the span
  sbo_positions      place of the token within the span, from 1; 0 if the span
                     boundary objective (SBO) does not predict it
"""

import numpy as np

_SEQUENCE_KEYS = ("input_ids", "input_mask")
_TARGET_KEYS = (
  "masked_positions",
  "masked_ids",
  "sbo_lefts",
  "sbo_rights",
  "sbo_positions",
)
KEYS = (*_SEQUENCE_KEYS, *_TARGET_KEYS)


def row_lengths(max_seq_length, max_predictions):
  """The length of a row of each array, a dict by KEYS."""
  return {
    **dict.fromkeys(_SEQUENCE_KEYS, max_seq_length),
    **dict.fromkeys(_TARGET_KEYS, max_predictions),
  }


def masked_arrays(sequences, max_seq_length, options):
  """The `MaskedSequence`s as a dict of int32 arrays, see the module.

  The options' max_predictions is the number of targets in a row.
  """
  lengths = row_lengths(max_seq_length, options.max_predictions)
  batch = {
    key: np.zeros((len(sequences), length), np.int32)
    for key, length in lengths.items()
  }
  for row, masked in enumerate(sequences):
    length = len(masked.input_ids)
    batch["input_ids"][row, :length] = masked.input_ids
    batch["input_mask"][row, :length] = 1
    targets = prediction_targets(masked, options.max_boundary_targets)
    for key, values in targets.items():
      batch[key][row, : len(values)] = values
  return batch


def prediction_targets(masked, max_boundary_targets):
  """The targets of a `MaskedSequence`: a dict of int32 [targets].

  For the masked tokens s..e the boundaries are s - 1 and e + 1, and target i
  has the position i - s + 1. The span boundary objective has no targets in a
  span that touches the edge of the text, and none after a span's first
  `max_boundary_targets` tokens.

  Example: with x5..x8 masked, the boundaries of all four are x4 and x9, and
  x6 has the position 2.
  """
  rows = []
  for span in masked.spans:
    left, right = span.left_boundary, span.right_boundary
    has_boundaries = left is not None and right is not None
    for position in range(span.token_start, span.token_end + 1):
      if has_boundaries and position - left <= max_boundary_targets:
        rows.append((position, left, right, position - left))
      else:
        rows.append((position, 0, 0, 0))
  table = np.array(rows, np.int32).reshape(-1, 4)  # [targets, 4]
  positions = table[:, 0]
  values = positions, masked.original_ids[positions], *table[:, 1:].T
  return dict(zip(_TARGET_KEYS, values, strict=True))
