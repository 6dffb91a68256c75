"""Answers of several spans as Python rows, and as prediction files."""

import dataclasses
import os

from bert_span.answers.files.prediction_files import (
  NULL_ODDS_FILE,
  PREDICTIONS_FILE,
)
from bert_span.storage import atomic_file

SPANS_FILE = "span_predictions.json"


def write_bio_prediction_files(
  output_dir, predictions, version_2_with_negative
):
  """Writes predictions.json, span_predictions.json and null_odds.json.

  predictions.json holds the best span's text, so that SQuAD's evaluators read
  it; span_predictions.json all spans of a question, in order of position, each
  with text, score, probability, char_start and char_end. null_odds.json is
  written for version 2 only. Each file is either whole or not there.

  Args:
    output_dir: an existing folder, local or of tf.io.gfile.
    predictions: list of BioPrediction, of different questions.
    version_2_with_negative: whether to write null_odds.json.

  Returns:
    list of the paths written.
  """
  files = {
    PREDICTIONS_FILE: {p.qas_id: p.text for p in predictions},
    SPANS_FILE: {
      p.qas_id: [dataclasses.asdict(span) for span in p.spans]
      for p in predictions
    },
  }
  if version_2_with_negative:
    files[NULL_ODDS_FILE] = {p.qas_id: p.null_odds for p in predictions}
  paths = []
  for name, value in files.items():
    paths.append(os.path.join(output_dir, name))
    atomic_file.write_json_atomically(paths[-1], value)
  return paths
