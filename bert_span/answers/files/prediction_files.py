"""Decoded answers as Python rows, and as run_squad's prediction files."""

import json
import os

from bert_span.storage.atomic_file import json_text, write_text_atomically

PREDICTIONS_FILE = "predictions.json"
N_BEST_FILE = "nbest_predictions.json"
NULL_ODDS_FILE = "null_odds.json"

_BETWEEN_VALUES = ",\n" + 12 * " "
_BETWEEN_ENTRIES = "\n        },\n        {\n" + 12 * " "
_encode_entry = json.JSONEncoder(separators=(_BETWEEN_VALUES, ": ")).encode


def write_prediction_files(output_dir, predictions, version_2_with_negative):
  """Writes predictions.json, nbest_predictions.json and null_odds.json.

  The form is run_squad's, questions in the order given. An n-best entry also
  has char_start and char_end, in characters of the context; null for "no
  answer". null_odds.json is written for version 2 only. Each file is either
  whole or not there.

  Args:
    output_dir: an existing folder, local or of tf.io.gfile.
    predictions: list of Prediction.
    version_2_with_negative: whether to write null_odds.json.

  Returns:
    list of the paths written.

  Raises:
    ValueError: two predictions have the same qas_id.
    OSError, tf.errors.OpError: a file cannot be written.
  """
  _check_ids(predictions)
  texts = {
    PREDICTIONS_FILE: json_text({p.qas_id: p.text for p in predictions}),
    N_BEST_FILE: _n_best_json(predictions),
  }
  if version_2_with_negative:
    null_odds = {p.qas_id: p.null_odds for p in predictions}
    texts[NULL_ODDS_FILE] = json_text(null_odds)
  paths = []
  for name, text in texts.items():
    paths.append(os.path.join(output_dir, name))
    write_text_atomically(paths[-1], text)
  return paths


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


def _n_best_json(predictions):
  """What json_text gives for the n-best lists, in half the time.

  json.dumps with an indent goes through Python for each value. So an entry is
  written without one, its lines parted by the separator, and what parts two
  entries is put in afterwards: no string within JSON holds a line break.
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


def _check_ids(predictions):
  """Refuses to let one answer replace another under the same id."""
  seen = set()
  for prediction in predictions:
    if prediction.qas_id in seen:
      raise ValueError(
        f"question {prediction.qas_id}: two questions have this id, and a "
        "prediction file can hold only one answer under it. Give each question "
        "an id of its own."
      )
    seen.add(prediction.qas_id)
