"""How probable each token of a passage is as start and as end of the answer."""

import dataclasses

import numpy as np

from bert_span.answers.window_logits import NO_LOGIT


@dataclasses.dataclass(frozen=True)
class WindowProbabilities:
  """Start and end probabilities of one window's tokens.

  Attributes:
    number: of the window within its question, from 0.
    char_starts, char_ends: int [tokens], the passage's tokens, half-open
      offsets in characters.
    start, end: float64 [tokens], softmax over all positions of the window.
    null_start, null_end: those of [CLS], which stands for "no answer".
    score: the highest start logit + the highest end logit of a token, by which
      windows compare.
  """

  number: int
  char_starts: np.ndarray
  char_ends: np.ndarray
  start: np.ndarray
  end: np.ndarray
  null_start: float
  null_end: float
  score: float


def window_probabilities(logits):
  """The probabilities of every window of one question.

  p_start[i] = exp(start_logit[i]) / sum over the window, likewise for ends.
  What is missing to 1 falls on the question and on [SEP].

  Args:
    logits: `WindowLogits` of a single example.

  Returns:
    List of `WindowProbabilities`, the best score first; [] for a passage
    without tokens.

  Raises:
    ValueError: there are several examples.
  """
  if len(logits.examples) != 1:
    raise ValueError(
      "logits must be those of one example. Received: "
      f"{len(logits.examples)} examples."
    )
  windows = [
    _window(logits, row) for row in range(len(logits.windows["example_index"]))
  ]
  return sorted(windows, key=lambda window: -window.score)


def _window(logits, row):
  char_starts = logits.windows["token_char_starts"][row]
  is_token = char_starts >= 0
  starts = logits.logits["start_logits"][row]
  ends = logits.logits["end_logits"][row]
  start, end = _softmax(starts), _softmax(ends)
  return WindowProbabilities(
    number=int(logits.windows["doc_span_index"][row]),
    char_starts=char_starts[is_token],
    char_ends=logits.windows["token_char_ends"][row][is_token],
    start=start[is_token],
    end=end[is_token],
    null_start=float(start[0]),
    null_end=float(end[0]),
    score=float(_highest(starts, is_token) + _highest(ends, is_token)),
  )


def _softmax(logits):
  """float64 [seq_length]; positions the model was not run on get 0."""
  values = logits.astype(np.float64)
  exponentials = np.exp(values - values.max())
  return exponentials / exponentials.sum()


def _highest(logits, is_token):
  return np.max(logits, where=is_token, initial=NO_LOGIT)
