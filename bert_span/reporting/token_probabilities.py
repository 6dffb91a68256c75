"""The probability of each token of a passage to start or end the answer."""

from typing import NamedTuple

import numpy as np

from bert_span.answers.window_logits import NO_LOGIT

_NUM_ROWS = 10


class WindowProbabilities(NamedTuple):
  """Start and end probabilities of the passage's tokens in one window."""

  number: int  # of the window within its question, from 0
  char_starts: np.ndarray  # int [tokens]
  char_ends: np.ndarray  # int [tokens], exclusive
  start: np.ndarray  # float64 [tokens], softmax over the whole window
  end: np.ndarray
  null_start: float  # of [CLS], which means "no answer"
  null_end: float
  score: float  # highest start logit + highest end logit of a token


def window_probabilities(logits):
  """The probabilities of every window of one question, the best score first.

  p_start[i] = exp(start_logit[i]) / sum over the window, and so for ends. The
  question and [SEP] have the rest of the probability. `logits` are the
  `WindowLogits` of a single example.
  """
  windows = []
  for row, char_starts in enumerate(logits.windows["token_char_starts"]):
    is_token = char_starts >= 0
    starts = logits.logits["start_logits"][row]
    ends = logits.logits["end_logits"][row]
    start, end = _softmax(starts), _softmax(ends)
    windows.append(
      WindowProbabilities(
        number=int(logits.windows["doc_span_index"][row]),
        char_starts=char_starts[is_token],
        char_ends=logits.windows["token_char_ends"][row][is_token],
        start=start[is_token],
        end=end[is_token],
        null_start=float(start[0]),
        null_end=float(end[0]),
        score=float(
          np.max(starts, where=is_token, initial=NO_LOGIT)
          + np.max(ends, where=is_token, initial=NO_LOGIT)
        ),
      )
    )
  return sorted(windows, key=lambda window: -window.score)


def token_rows(context, window):
  """Rows of (token, character, start and end in percent), the best first."""
  rows = [
    (
      "[CLS] (no answer)",
      None,
      100.0 * window.null_start,
      100.0 * window.null_end,
    )
  ]
  highest = np.maximum(window.start, window.end)
  for i in np.argsort(-highest, kind="stable")[:_NUM_ROWS]:
    char_start = int(window.char_starts[i])
    rows.append(
      (
        context[char_start : window.char_ends[i]],
        char_start,
        100.0 * window.start[i],
        100.0 * window.end[i],
      )
    )
  return rows


def token_pieces(context, window):
  """Yields (text, start, end) of each token and of the text between tokens."""
  reached = int(window.char_starts[0])
  for char_start, char_end, start, end in zip(
    window.char_starts, window.char_ends, window.start, window.end, strict=True
  ):
    yield context[reached:char_start], 0.0, 0.0
    # Several tokens may share a character: "½" gives "1/2".
    yield context[max(char_start, reached) : char_end], start, end
    reached = max(reached, int(char_end))


def _softmax(logits):
  """float64 [seq_length]; positions the model was not run on get 0."""
  values = logits.astype(np.float64)
  exponentials = np.exp(values - values.max())
  return exponentials / exponentials.sum()
