"""What a max_seq_length costs: windows, padding, computation, cut answers.

All of it follows from token counts, so that many lengths are compared without
making windows of any.
"""

import dataclasses
from typing import NamedTuple

import numpy as np

_NUM_SPECIAL_TOKENS = 3  # [CLS] question [SEP] window [SEP]


class WindowPlaces(NamedTuple):
  """Where the windows of all examples stand, one after the other.

  Attributes:
    example_index: int64 [windows].
    context_start: int64 [windows], token of the passage a window begins with.
    context_length: int64 [windows], tokens of the passage it holds.
    lengths: int64 [windows], WordPieces with question and special tokens.
  """

  example_index: np.ndarray
  context_start: np.ndarray
  context_length: np.ndarray
  lengths: np.ndarray


@dataclasses.dataclass(frozen=True)
class WindowCost:
  """What the windows of one max_seq_length come to.

  Attributes:
    max_seq_length: WordPieces.
    windows: how many.
    answerless_windows: windows of answerable questions that do not hold the
      answer.
    answers_cut: answers that no window holds whole.
    wordpieces: of all windows, without padding.
    bucket_wordpieces: of all windows, each padded to a multiple of the bucket
      width; batches that mix two buckets, a few an epoch, add a little.
    padded_wordpieces: of all windows, each padded to max_seq_length.
    bucket_cost, padded_cost: see `computation`, padded likewise.
  """

  max_seq_length: int
  windows: int
  answerless_windows: int
  answers_cut: int
  wordpieces: int
  bucket_wordpieces: int
  padded_wordpieces: int
  bucket_cost: float
  padded_cost: float


def place_windows(question_lengths, context_lengths, options):
  """Places windows as `SlidingWindows` does.

  windows of an example = 1 + max(0, ceil((tokens - room) / step)), with
  room = max_seq_length - question tokens - 3, step = min(room, doc_stride); a
  passage without tokens has none.

  Args:
    question_lengths: int [examples], WordPieces, before they are cut.
    context_lengths: int [examples], WordPieces.
    options: `WindowOptions`.

  Returns:
    `WindowPlaces`.
  """
  context = np.asarray(context_lengths, np.int64)
  question = np.minimum(question_lengths, options.max_query_length)
  room = options.max_seq_length - question.astype(np.int64)
  room -= _NUM_SPECIAL_TOKENS
  step = np.minimum(room, options.doc_stride)
  num_windows = 1 + (np.maximum(0, context - room) + step - 1) // step
  num_windows = np.where(context > 0, num_windows, 0)
  example = np.repeat(np.arange(len(context)), num_windows)
  first_window = np.cumsum(num_windows) - num_windows
  number = np.arange(len(example)) - first_window[example]
  start = number * step[example]
  length = np.minimum(room[example], context[example] - start)
  total = length + question[example] + _NUM_SPECIAL_TOKENS
  return WindowPlaces(example, start, length, total)


def holds_answer(places, lengths):
  """Bool [windows], whether each holds its question's answer whole.

  Args:
    places: `WindowPlaces`.
    lengths: `TokenLengths`.
  """
  start = lengths.answer_start[places.example_index]
  end = lengths.answer_end[places.example_index]
  return (
    lengths.has_answer[places.example_index]
    & (start >= places.context_start)
    & (end < places.context_start + places.context_length)
  )


def answers_cut(places, lengths):
  """Bool [examples], whether there is an answer and no window holds it."""
  held = np.zeros(len(lengths.context), bool)
  held[places.example_index[holds_answer(places, lengths)]] = True
  return lengths.has_answer & ~held


def window_cost(lengths, options, bucket_width, hidden_size):
  """Sums up the windows of one setting.

  Args:
    lengths: `TokenLengths`.
    options: `WindowOptions`.
    bucket_width: WordPieces, of --length_buckets.
    hidden_size: of the encoder.

  Returns:
    `WindowCost`.
  """
  places = place_windows(lengths.question, lengths.context, options)
  longest = options.max_seq_length
  padded = np.full_like(places.lengths, longest)
  bucketed = -(-places.lengths // bucket_width) * bucket_width  # rounded up
  bucketed = np.minimum(bucketed, longest)
  answerable = lengths.has_answer[places.example_index]
  return WindowCost(
    max_seq_length=longest,
    windows=len(places.lengths),
    answerless_windows=int(np.sum(answerable & ~holds_answer(places, lengths))),
    answers_cut=int(answers_cut(places, lengths).sum()),
    wordpieces=int(places.lengths.sum()),
    bucket_wordpieces=int(bucketed.sum()),
    padded_wordpieces=int(padded.sum()),
    bucket_cost=computation(bucketed, hidden_size),
    padded_cost=computation(padded, hidden_size),
  )


def computation(lengths, hidden_size):
  """The work of an encoder on windows, in WordPieces of a very short window.

  A layer of hidden size H multiplies, for a window of L WordPieces, 12 H^2 L
  times in its dense parts (4 H^2 in attention, 8 H^2 in the feed-forward part
  of size 4 H) and 2 H L^2 times between positions. Divided by 12 H^2 that is
  L (1 + L / (6 H)): with H 768, the quadratic part is 8 % at 384 WordPieces.

  Args:
    lengths: int [windows], padded WordPieces.
    hidden_size: of the encoder.

  Returns:
    float, to compare with another one.
  """
  lengths = np.asarray(lengths, np.float64)
  return float(np.sum(lengths * (1 + lengths / (6 * hidden_size))))
