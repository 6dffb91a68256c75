"""What decode does: makes prediction files from saved logits."""

import os
import typing

import numpy as np

from bert_span.answers.prediction_files import write_predictions
from bert_span.answers.window_logits import (
  SavedLogits,
  WindowDecoder,
  WindowLogits,
)
from bert_span.data.window_batches import window_batches
from bert_span.extractors.loading import (
  check_no_span,
  extractor_class_of,
  merged_options,
  saved_config,
)
from bert_span.presets.directory_tokenizer import VOCABULARY_FILE
from bert_span.presets.span_config import TASK_FILE, find_embedded_model
from bert_span.presets.vocabulary_files import load_vocabulary
from bert_span.squad.reader import read_squad
from bert_span.squad.rules import prediction_examples
from bert_span.storage.log import log_line

if typing.TYPE_CHECKING:
  from bert_span.decode import DecodeOptions


def decode(options: "DecodeOptions"):
  """Decodes the mean of saved logits; writes files, returns predictions."""
  config = saved_config(options.model)
  vocab_file, lower_case = options.vocab_file, options.do_lower_case
  if options.model:
    if not config:
      raise ValueError(
        f"model={options.model} has no {TASK_FILE}. Give vocab_file instead, "
        "and the windows with which the logits were saved."
      )
    vocab_file = os.path.join(
      find_embedded_model(options.model), VOCABULARY_FILE
    )
    lower_case = config["do_lower_case"]
  extractor_class = extractor_class_of(options, config.get("head"))
  check_no_span(options, extractor_class)
  window_options, decoder_options = merged_options(
    options, config, options.model
  )
  version_2 = decoder_options.version_2_with_negative
  preprocessor = extractor_class.preprocessor_class(
    load_vocabulary(vocab_file),
    lower_case is not False,
    window_options,
    pad_to_max=True,
  )
  squad_file = read_squad(options.predict_file)
  examples = prediction_examples(squad_file, version_2)
  log_line(*squad_file.report.lines())
  saved_files = [
    SavedLogits(path, extractor_class.logits) for path in options.logits_file
  ]
  decoder = WindowDecoder(extractor_class, decoder_options)
  predictions = []
  for batch, windows in window_batches(examples, preprocessor):
    saved_logits = [file.take(batch, windows) for file in saved_files]
    means = {
      name: np.mean([logits[name] for logits in saved_logits], axis=0)
      for name in extractor_class.logits
    }
    predictions += decoder(WindowLogits(batch, windows, means))
  for file in saved_files:
    file.check_all_taken()
  return write_predictions(
    options.output_dir,
    extractor_class.columns,
    predictions,
    version_2,
    options.no_span,
  )
