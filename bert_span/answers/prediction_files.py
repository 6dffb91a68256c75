"""Predictions in files: run_squad's, and span_predictions.json.

They are JSON objects with question ids as keys.
"""

import sys

from bert_span.answers.answer import Answer
from bert_span.answers.options import (
  N_BEST_FILE,
  NULL_ODDS_FILE,
  PREDICTION_FILES,
  PREDICTIONS_FILE,
  SPANS_FILE,
)
from bert_span.answers.predictions import as_original_without_span
from bert_span.options.messages import shortened
from bert_span.storage.atomic_file import json_text, write_files
from bert_span.storage.files import read_json_object
from bert_span.storage.json_fields import is_json
from bert_span.storage.log import log_line

_LARGEST = sys.float_info.max


def write_predictions(
  output_dir,
  columns,
  predictions,
  version_2_with_negative,
  no_span="no_answer",
  others=None,
):
  """Writes prediction files, logs a summary, returns the predictions.

  They are run_squad's, with char_start and char_end in n-best entries. For a
  B/I/O head span_predictions.json has all spans, and predictions.json the best
  one, so that SQuAD's evaluators read it. Files of an earlier run are replaced
  or removed as a set. `columns` are the extractor's; `others` are the contents
  of more files, by name.
  no_span="original" gives the answers of `as_original_without_span`.
  """
  if no_span == "original":
    predictions = as_original_without_span(predictions, version_2_with_negative)
  texts = {p.qas_id: p.answer.text for p in predictions}
  files = {
    PREDICTIONS_FILE: json_text(texts),
    **_list_file(columns, predictions),
  }
  if version_2_with_negative:
    null_odds = {p.qas_id: p.answer.null_odds for p in predictions}
    files[NULL_ODDS_FILE] = json_text(null_odds)
  files |= others or {}
  paths, removed = write_files(output_dir, files, outdated=PREDICTION_FILES)
  if removed:
    log_line(f"Removed files of an earlier prediction: {', '.join(removed)}")
  num_empty = sum(not text for text in texts.values())
  log_line(
    f"{len(predictions)} questions answered, {num_empty} of them with no "
    f"answer: {', '.join(paths)}"
  )
  return predictions


def _list_file(columns, predictions):
  """The file with the list of each prediction: its name and its text."""
  if columns.entries == "spans":
    name, entry_values = SPANS_FILE, columns.entry_values
  else:
    name, entry_values = N_BEST_FILE, json_entry
  lists = {
    p.qas_id: list(map(entry_values, getattr(p, columns.entries)))
    for p in predictions
  }
  return {name: json_text(lists)}


def json_entry(entry):
  """Returns an n-best entry with run_squad's keys in its order, then offsets.

  The offsets of "no answer" are None.
  """
  names = ("text", "probability", "start_logit", "end_logit")
  result = {name: getattr(entry, name) for name in names}
  is_span = entry.char_end > entry.char_start
  for name in ("char_start", "char_end"):
    result[name] = getattr(entry, name) if is_span else None
  return result


def read_predictions(path):
  """Reads a predictions.json, local or remote: texts by question id.

  Raises OSError if the file cannot be read, ValueError if it is no such file.
  """
  return _read_by_id(
    path,
    lambda value: value if isinstance(value, str) else None,
    'a string, "" for no answer, as in a predictions.json',
  )


def read_na_probs(path):
  """Reads the finite no-answer scores of a null_odds.json by question id."""
  return _read_by_id(
    path,
    lambda value: value if _is_number(value, -_LARGEST, _LARGEST) else None,
    "a finite no-answer score, high if an answer is unlikely, as in a "
    "null_odds.json",
  )


def read_n_best(path):
  """Reads an nbest_predictions.json: tuples of `Answer` by question id.

  "No answer" has no offsets, and files of the original have none.
  """
  return _read_by_id(
    path,
    _n_best_list,
    "a list of objects, each with the string text, a probability from 0 to 1, "
    "and char_start and char_end, half-open offsets in characters or null, as "
    "in an nbest_predictions.json",
  )


def read_span_predictions(path):
  """Reads a span_predictions.json: lists of texts by question id.

  A value in the file is a list of texts (as for MultiSpanQA's evaluator) or of
  objects with the key "text", or one text. Both "" and [] are "no answer".
  """
  return _read_by_id(
    path,
    _span_texts,
    "a text or a list of spans with their texts, [] for no answer, as in a "
    "span_predictions.json",
  )


def _read_by_id(path, parse, rule):
  """Reads parse(value) by question id; None means a value against the rule."""
  num_repeated = 0

  def to_dict(pairs):
    nonlocal num_repeated
    result = dict(pairs)
    num_repeated += len(pairs) - len(result)
    return result

  values = read_json_object(path, object_pairs_hook=to_dict)
  if num_repeated:
    # The official evaluators count the last one, too, without notice.
    log_line(
      f"{path}: {num_repeated} repeated keys; the last entry of each counts."
    )
  for qas_id, value in values.items():
    values[qas_id] = parse(value)
    if values[qas_id] is None:
      raise ValueError(
        f"{path}: question {shortened(qas_id)} must have {rule}. Received: "
        f"{shortened(value)}. Correct it, or give another file."
      )
  return values


def _is_number(value, low, high):
  return is_json(value, (int, float)) and low <= value <= high


def _n_best_list(value):
  entries = value if isinstance(value, list) else []
  answers = tuple(map(_listed_answer, entries))
  return answers if answers and None not in answers else None


def _listed_answer(entry):
  """Makes an `Answer` of a JSON value; None if it does not fit."""
  values = entry if isinstance(entry, dict) else {}
  names = ("text", "probability", "char_start", "char_end")
  text, probability, start, end = map(values.get, names)
  has_offsets = is_json(start, int) and is_json(end, int) and 0 <= start <= end
  fits = isinstance(text, str) and (has_offsets or start is end is None)
  # Rounding may bring a sum of float32 exponentials above 1.
  if not (fits and _is_number(probability, -1e-6, 1 + 1e-6)):
    return None
  return Answer(text, start, end, None, float(min(max(probability, 0), 1)))


def _span_texts(value):
  spans = value if isinstance(value, list) else [value]
  texts = [x.get("text") if isinstance(x, dict) else x for x in spans]
  if not all(isinstance(text, str) for text in texts):
    return None
  return [text for text in texts if text]
