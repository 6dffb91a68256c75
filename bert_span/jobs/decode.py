"""What decode does: makes prediction files of saved logits."""

import os

import numpy as np

from bert_span.answers.prediction_files import write_predictions
from bert_span.answers.window_logits import (
  SavedLogits,
  WindowDecoder,
  WindowLogits,
)
from bert_span.data.window_batches import window_batches
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.presets.model_directory import VOCABULARY_FILE
from bert_span.presets.span_config import find_embedded_model
from bert_span.presets.vocabulary_files import load_vocabulary
from bert_span.squad.reader import read_squad
from bert_span.squad.rules import prediction_examples
from bert_span.storage.log import log_line


def decode_logits(
  predict_file,
  logits_files,
  output_dir,
  decoder_options,
  extractor_class=SpanExtractor,
  model=None,
  vocab_file=None,
  do_lower_case=True,
  window_options=None,
  no_span="no_answer",
):
  """Decodes the mean of saved logits; writes files, returns predictions."""
  version_2 = decoder_options.version_2_with_negative
  if model:
    vocab_file = os.path.join(find_embedded_model(model), VOCABULARY_FILE)
  preprocessor = extractor_class.preprocessor_class(
    load_vocabulary(vocab_file), do_lower_case, window_options, pad_to_max=True
  )
  squad_file = read_squad(predict_file)
  examples = prediction_examples(squad_file, version_2)
  log_line(*squad_file.report.lines())
  saved = [SavedLogits(path, extractor_class.logits) for path in logits_files]
  decode = WindowDecoder(extractor_class, decoder_options)
  predictions = []
  for batch, windows in window_batches(examples, preprocessor.windows):
    taken = [file.take(batch, windows) for file in saved]
    means = {
      name: np.mean([logits[name] for logits in taken], axis=0)
      for name in extractor_class.logits
    }
    predictions += decode(WindowLogits(batch, windows, means))
  for file in saved:
    file.check_all_taken()
  return write_predictions(
    output_dir, extractor_class, predictions, version_2, no_span
  )
