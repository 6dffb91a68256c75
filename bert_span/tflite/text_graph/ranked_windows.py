"""Windows by ops that a TFLite file can hold: whole numbers for float64."""

import numpy as np
import tensorflow as tf

from bert_span.text.tokenizer import one_row
from bert_span.text.windows import SlidingWindows


class RankedWindows(SlidingWindows):
  """`SlidingWindows` of one passage, which compares ranks of context scores.

  TFLite has no float64, in which max context is decided. There are few scores,
  one for each number of tokens beside a token and each length of a window; so
  they are ranked once, in float64, and a window looks its rank up:

      least      0     0     1     1
      length     1     2     1     2
      score   0.01  0.02  1.01  1.02
      rank       0     1     2     3

  Args: those of `SlidingWindows`.
  """

  def __init__(self, options, *args, **kwargs):
    super().__init__(options, *args, **kwargs)
    lengths = np.arange(options.max_seq_length + 1, dtype=np.int32)
    most = options.max_seq_length // 2
    least = np.arange(most + 1, dtype=np.int32)[:, np.newaxis]
    scores = super().context_score(least, lengths[np.newaxis]).numpy()
    _, ranks = np.unique(scores.ravel(), return_inverse=True)
    self._ranks = ranks.astype(np.int32)  # [most + 1, lengths], flat
    self._most = most

  def context_score(self, least, length):
    """See `SlidingWindows.context_score`; int32 here."""
    least = tf.clip_by_value(least, 0, self._most)
    return tf.gather(
      tf.constant(self._ranks),
      least * (self.options.max_seq_length + 1) + length,
    )

  def shortened(self, question_ids):
    """See `SlidingWindows.shortened`; there is one question."""
    values = question_ids.values[: self.options.max_query_length]
    return one_row(values)

  def window_examples(self, num_windows):
    """See `SlidingWindows.window_examples`; there is one example."""
    return tf.zeros(num_windows[:1], tf.int32)
