"""Runs the model on windows, batch by batch."""

import numpy as np
import tensorflow as tf

from bert_span.answers.window_logits import NO_LOGIT
from bert_span.modeling.inference_encoder import InferenceModel
from bert_span.text.windows import LENGTH_MULTIPLE


class WindowScorer:
  """Gives windows their logits.

  Args:
    model: a `SpanModel`.
    fixed_length: run the model on every position, padding included, as the
      original; else windows of similar length share a batch, padded no
      further than they need, and padding has the logit NO_LOGIT.
  """

  def __init__(self, model, fixed_length):
    self._outputs = model.output
    self._model = InferenceModel(model)
    self._fixed_length = fixed_length
    rows = tf.TensorSpec([None, None], tf.int32)  # [batch, seq_length]
    self._run_model = tf.function(
      self._logits, input_signature=[rows] * 3, autograph=False
    )

  def __call__(self, windows, batch_size):
    """Scores the positions of all windows.

    Args:
      windows: dict of arrays, see `SlidingWindows`.
      batch_size: windows the model reads at once.

    Returns:
      Dict of the model's logits, float32 [windows, seq_length, ..].
    """
    shape = windows["input_ids"].shape
    logits = {
      name: np.full([*shape, *output.shape[2:]], NO_LOGIT, np.float32)
      for name, output in self._outputs.items()
    }
    lengths = windows["input_mask"].sum(axis=1)
    order = np.argsort(lengths, kind="stable")
    for i in range(0, len(order), batch_size):
      rows = order[i : i + batch_size]
      length = self._padded_length(int(lengths[rows].max()), shape[1])
      outputs = self._run_model(
        *(
          tf.constant(windows[name][rows, :length])
          for name in ("input_ids", "segment_ids", "input_mask")
        )
      )
      for name, output in outputs.items():
        logits[name][rows, :length] = output
    if not self._fixed_length:
      # Whatever shared the batch must not decide which positions there are.
      padding = windows["input_mask"] == 0
      for values in logits.values():
        values[padding] = NO_LOGIT
    return logits

  def _padded_length(self, longest, longest_of_all):
    if self._fixed_length:
      return longest_of_all
    rounded = -(-longest // LENGTH_MULTIPLE) * LENGTH_MULTIPLE
    return min(rounded, longest_of_all)

  def _logits(self, input_ids, segment_ids, input_mask):
    return self._model(
      {
        "token_ids": input_ids,
        "segment_ids": segment_ids,
        "padding_mask": input_mask,
      }
    )
