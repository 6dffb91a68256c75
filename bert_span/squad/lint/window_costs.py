"""Computes what a max_seq_length costs: windows, padding, work, cut answers.

All of it follows from token counts, so that many lengths are compared without
making windows of any.
"""

import numpy as np

from bert_span.text.windows import PlacedWindows, SlidingWindows


def place_windows(lengths, options):
  """Places the windows of all examples.

  Args:
    lengths: `TokenLengths`.
    options: `WindowOptions`.

  Returns:
    Dict of the arrays [windows] of `SlidingWindows.columns`, and of length,
    the WordPieces of each window with question and special tokens.
  """
  columns = SlidingWindows(options, cls_id=0, sep_id=0).columns(
    np.minimum(lengths.question, options.max_query_length), lengths.context
  )
  columns["length"] = PlacedWindows(None, None, columns).lengths
  return {name: values.numpy() for name, values in columns.items()}


def holds_answer(windows, lengths):
  """Bool [windows], whether each holds its question's answer whole."""
  example = windows["example_index"]
  end = windows["context_start"] + windows["context_length"]
  return (
    lengths.has_answer[example]
    & (lengths.answer_start[example] >= windows["context_start"])
    & (lengths.answer_end[example] < end)
  )


def answers_cut(windows, lengths):
  """Bool [examples], whether there is an answer and no window holds it."""
  held = np.zeros(len(lengths.context), bool)
  held[windows["example_index"][holds_answer(windows, lengths)]] = True
  return lengths.has_answer & ~held


def window_cost(lengths, options, bucket_width, hidden_size):
  """Sums up the windows of one setting.

  Returns:
    Dict of
      max_seq_length: WordPieces.
      windows: how many.
      answerless_windows: windows of answerable questions without the answer.
      answers_cut: answers that no window holds whole.
      wordpieces: of all windows, without padding.
      bucket_wordpieces: of all windows, each padded to a multiple of the bucket
        width; batches that mix two buckets, a few an epoch, add a little.
      padded_wordpieces: of all windows, each padded to max_seq_length.
      bucket_cost, padded_cost: see `computation`, with the same padding.
  """
  windows = place_windows(lengths, options)
  longest = options.max_seq_length
  padded = np.full_like(windows["length"], longest)
  bucketed = -(-windows["length"] // bucket_width) * bucket_width  # rounded up
  bucketed = np.minimum(bucketed, longest)
  has_answer = lengths.has_answer[windows["example_index"]]
  lacks_answer = has_answer & ~holds_answer(windows, lengths)
  return {
    "max_seq_length": longest,
    "windows": len(padded),
    "answerless_windows": int(lacks_answer.sum()),
    "answers_cut": int(answers_cut(windows, lengths).sum()),
    "wordpieces": int(windows["length"].sum(dtype=np.int64)),
    "bucket_wordpieces": int(bucketed.sum(dtype=np.int64)),
    "padded_wordpieces": int(padded.sum(dtype=np.int64)),
    "bucket_cost": computation(bucketed, hidden_size),
    "padded_cost": computation(padded, hidden_size),
  }


def computation(lengths, hidden_size):
  """The work of an encoder on windows, in WordPieces of a very short window.

  A layer of hidden size H multiplies, for a window of L WordPieces, 12 H^2 L
  times in its dense parts (4 H^2 in attention, 8 H^2 in the feed-forward part
  of size 4 H) and 2 H L^2 times between positions. Divided by 12 H^2 that is
  L (1 + L / (6 H)): with H 768, the quadratic part is 8 % at 384 WordPieces.
  """
  lengths = np.asarray(lengths, np.float64)
  return float(np.sum(lengths * (1 + lengths / (6 * hidden_size))))
