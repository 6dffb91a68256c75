"""Predictions from saved logits, of one model or of several."""

import numpy as np

from bert_span.answers.bio_window_logits import (
  WindowBioDecoder,
  WindowBioLogits,
)
from bert_span.answers.decoding.bio_decoder import BioDecoderOptions
from bert_span.answers.window_logits import WindowDecoder, WindowLogits
from bert_span.data.window_batches import window_batches


def decode_saved_logits(examples, preprocessor, saved_logits, decoder_options):
  """Answers questions from logits alone.

  Several models make an ensemble: a window's logits are their mean.

  Args:
    examples: sequence of `SquadExample`, with different ids.
    preprocessor: `SpanPreprocessor` with pad_to_max, as the logits' windows
      were made.
    saved_logits: list of `SavedLogits`, at least one.
    decoder_options: `DecoderOptions`, or `BioDecoderOptions` for logits of a
      B/I/O head.

  Returns:
    List of `Prediction` or `BioPrediction`, in the order of `examples`.

  Raises:
    ValueError: a file lacks a window, has another one too many or windows of
      another length.
  """
  for saved in saved_logits:
    saved.check_length(preprocessor.options.max_seq_length)
  if isinstance(decoder_options, BioDecoderOptions):
    decode, window_logits = WindowBioDecoder(decoder_options), WindowBioLogits
  else:
    decode, window_logits = WindowDecoder(decoder_options), WindowLogits
  predictions = []
  for batch, windows in window_batches(examples, preprocessor):
    taken = [saved.take(batch, windows) for saved in saved_logits]
    means = (np.mean(column, axis=0) for column in zip(*taken, strict=True))
    predictions += decode(window_logits(batch, windows, *means))
  for saved in saved_logits:
    saved.check_all_taken()
  return predictions
