"""Predictions as run_squad's files, and as span_predictions.json."""

import json
import os

from bert_span.storage.atomic_file import json_text, write_text_atomically

PREDICTIONS_FILE = "predictions.json"
N_BEST_FILE = "nbest_predictions.json"
SPANS_FILE = "span_predictions.json"
NULL_ODDS_FILE = "null_odds.json"

_BETWEEN_VALUES = ",\n" + 12 * " "
_BETWEEN_ENTRIES = "\n        },\n        {\n" + 12 * " "
_encode_entry = json.JSONEncoder(separators=(_BETWEEN_VALUES, ": ")).encode


def write_prediction_files(output_dir, predictions, version_2_with_negative):
  """Writes predictions.json, nbest_predictions.json and null_odds.json.

  The format is run_squad's, questions in the order given. An n-best entry also
  has char_start and char_end, in characters of the context; null for "no
  answer". null_odds.json is written for version 2 only. Each file is written
  whole or not at all.

  Args:
    output_dir: an existing folder, local or of tf.io.gfile.
    predictions: list of `Prediction`, of different questions.
    version_2_with_negative: whether to write null_odds.json.

  Returns:
    List of the paths written.

  Raises:
    OSError, tf.errors.OpError: a file cannot be written.
  """
  return _write(
    output_dir,
    predictions,
    version_2_with_negative,
    {N_BEST_FILE: _n_best_json(predictions)},
  )


def write_bio_prediction_files(
  output_dir, predictions, version_2_with_negative
):
  """Writes predictions.json, span_predictions.json and null_odds.json.

  predictions.json holds the best span's text, so that SQuAD's evaluators read
  it; span_predictions.json all spans of a question, in order of position, each
  with text, char_start, char_end, score and probability.

  Args, Returns, Raises: see `write_prediction_files`, of `BioPrediction`.
  """
  spans = {p.qas_id: [s._asdict() for s in p.spans] for p in predictions}
  return _write(
    output_dir,
    predictions,
    version_2_with_negative,
    {SPANS_FILE: json_text(spans)},
  )


def json_entry(entry):
  """An n-best entry with run_squad's keys in its order, then our offsets."""
  is_span = entry.char_end > entry.char_start
  return {
    "text": entry.text,
    "probability": entry.probability,
    "start_logit": entry.start_logit,
    "end_logit": entry.end_logit,
    "char_start": entry.char_start if is_span else None,
    "char_end": entry.char_end if is_span else None,
  }


def _write(output_dir, predictions, version_2, files):
  """Writes texts by file name, and what all heads write."""
  files = {
    PREDICTIONS_FILE: json_text({p.qas_id: p.text for p in predictions}),
    **files,
  }
  if version_2:
    null_odds = {p.qas_id: p.null_odds for p in predictions}
    files[NULL_ODDS_FILE] = json_text(null_odds)
  for name, text in files.items():
    write_text_atomically(os.path.join(output_dir, name), text)
  return [os.path.join(output_dir, name) for name in files]


def _n_best_json(predictions):
  """What json_text gives for the n-best lists, in half the time.

  json.dumps with an indent goes through Python for each value. So an entry is
  written without an indent, with the separator of lines between its values, and
  the separator of entries is put in afterwards: no string within JSON holds a
  line break.
  """
  if not predictions:
    return json_text({})
  lists = []
  for prediction in predictions:
    entries = _encode_entry([json_entry(entry) for entry in prediction.n_best])
    entries = entries.replace("}" + _BETWEEN_VALUES + "{", _BETWEEN_ENTRIES)
    lists.append(
      f"    {json.dumps(prediction.qas_id)}: [\n        {{\n            "
      f"{entries[2:-2]}\n        }}\n    ]"
    )
  return "{\n" + ",\n".join(lists) + "\n}\n"
