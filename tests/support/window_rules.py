"""What the tokens and windows of any text must hold."""

import numpy as np


def check_tokens(context, starts, ends):
  """Tokens follow each other in the text, each with characters."""
  assert (starts < ends).all()
  assert (ends[:-1] <= starts[1:]).all()
  assert not starts.size or (starts[0] >= 0 and ends[-1] <= len(context))


def check_windows(windows, rows, starts, ends):
  """The windows `rows` show all tokens, each at its best in one of them."""
  times_best = np.zeros(len(starts), np.int32)
  for row in rows:
    at = np.flatnonzero(windows["token_char_starts"][row] >= 0)
    tokens = windows["context_start"][row] + np.arange(len(at))
    np.testing.assert_array_equal(
      windows["token_char_starts"][row, at], starts[tokens]
    )
    np.testing.assert_array_equal(
      windows["token_char_ends"][row, at], ends[tokens]
    )
    is_best = windows["is_max_context"][row]
    assert is_best.sum() == is_best[at].sum()  # only tokens of the passage
    times_best[tokens] += is_best[at]
  # A token in no window could be the best of none.
  assert (times_best == 1).all()
