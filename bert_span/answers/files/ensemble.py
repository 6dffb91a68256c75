"""Predictions from saved logits, of one model or of several."""

import numpy as np

from bert_span.answers.window_logits import WindowDecoder, WindowLogits
from bert_span.data.window_batches import window_batches


def decode_saved_logits(
  examples, preprocessor, saved_logits, head, decoder_options
):
  """Answers questions from logits alone.

  Several models make an ensemble: a window's logits are their mean.

  Args:
    examples: sequence of `SquadExample`, with different ids.
    preprocessor: `SpanPreprocessor` with pad_to_max, as the logits' windows
      were made.
    saved_logits: list of `SavedLogits`, at least one.
    head: `AnswerHead` that the logits are of.
    decoder_options: its decoding options.

  Returns:
    List of predictions, in the order of `examples`.

  Raises:
    ValueError: a file lacks a window, has another one too many or windows of
      another length.
  """
  for saved in saved_logits:
    saved.check_length(preprocessor.options.max_seq_length)
  decode = WindowDecoder(head, decoder_options)
  predictions = []
  for batch, windows in window_batches(examples, preprocessor):
    taken = [saved.take(batch, windows) for saved in saved_logits]
    means = {
      name: np.mean([logits[name] for logits in taken], axis=0)
      for name in head.logits
    }
    predictions += decode(WindowLogits(batch, windows, means))
  for saved in saved_logits:
    saved.check_all_taken()
  return predictions
