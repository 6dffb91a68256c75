"""Predictions in files: run_squad's, and span_predictions.json.

They are JSON objects with question ids as keys.
"""

import sys

from bert_span.answers.answer import Answer
from bert_span.answers.options import (
  NULL_ODDS_FILE,
  PREDICTION_FILES,
  PREDICTIONS_FILE,
)
from bert_span.answers.predictions import as_original_without_span
from bert_span.options.messages import shortened
from bert_span.storage.atomic_file import json_text, write_files
from bert_span.storage.files import read_json_object
from bert_span.storage.json_fields import is_kind
from bert_span.storage.log import log_line

_LARGEST = sys.float_info.max


def write_predictions(
  output_dir,
  extractor_class,
  predictions,
  version_2_with_negative,
  no_span="no_answer",
  others=None,
):
  """Writes prediction files, logs a summary, returns the predictions.

  They are run_squad's, with char_start and char_end in n-best entries. Of a
  B/I/O head span_predictions.json has all spans, and predictions.json the best
  one, so that SQuAD's evaluators read it. Files of an earlier run are replaced
  or removed as a set. `others` are the contents of more files, by name.
  no_span="original" gives the answers of `as_original_without_span`.
  """
  if no_span == "original":
    predictions = as_original_without_span(predictions, version_2_with_negative)
  texts = {p.qas_id: p.answer.text for p in predictions}
  files = {
    PREDICTIONS_FILE: json_text(texts),
    **extractor_class.list_file(predictions),
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


def json_entry(entry):
  """An n-best entry with run_squad's keys in its order, then our offsets.

  "No answer" has None for its offsets.
  """
  names = ("text", "probability", "start_logit", "end_logit")
  result = {name: getattr(entry, name) for name in names}
  is_span = entry.char_end > entry.char_start
  for name in ("char_start", "char_end"):
    result[name] = getattr(entry, name) if is_span else None
  return result


def read_predictions(path):
  """The dict of a predictions.json, local or remote: question ids to texts.

  OSError if the file cannot be read, ValueError if it is not such a file.
  """
  return _read(
    path,
    lambda value: value if isinstance(value, str) else None,
    'a string, "" for no answer, as in a predictions.json',
  )


def read_na_probs(path):
  """Reads the finite no-answer scores of a null_odds.json by question id."""
  return _read(
    path,
    lambda value: value if _is_number(value, -_LARGEST, _LARGEST) else None,
    "a finite no-answer score, higher the less likely an answer is, as in a "
    "null_odds.json",
  )


def read_n_best(path):
  """Tuples of `Answer` of an nbest_predictions.json, by question id.

  "No answer" has no offsets, and files of the original have none.
  """
  return _read(
    path,
    _n_best_list,
    "a list of objects, each with the string text, a probability from 0 to 1, "
    "and char_start and char_end, half-open offsets in characters or null, as "
    "in an nbest_predictions.json",
  )


def read_span_predictions(path):
  """The lists of texts of a span_predictions.json by question id.

  A value in the file is a list of texts (as for MultiSpanQA's evaluator) or of
  objects with the key "text", or one text. "" is no answer, like [].
  """
  return _read(
    path,
    _span_texts,
    "a text or a list of spans with their texts, [] for no answer, as in a "
    "span_predictions.json",
  )


def _read(path, parse, rule):
  """Dict of question id to parse(value), which is None against the rule."""
  num_repeated = 0

  def to_dict(pairs):
    nonlocal num_repeated
    result = dict(pairs)
    num_repeated += len(pairs) - len(result)
    return result

  values = read_json_object(path, object_pairs_hook=to_dict)
  if num_repeated:
    # As the official evaluators, which do not notice.
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
  return is_kind(value, (int, float)) and low <= value <= high


def _n_best_list(value):
  entries = value if isinstance(value, list) else []
  answers = tuple(map(_listed_answer, entries))
  return answers if answers and None not in answers else None


def _listed_answer(entry):
  """The `Answer` of a JSON value, or None."""
  values = entry if isinstance(entry, dict) else {}
  names = ("text", "probability", "char_start", "char_end")
  text, probability, start, end = map(values.get, names)
  has_offsets = is_kind(start, int) and is_kind(end, int) and 0 <= start <= end
  fits = isinstance(text, str) and (has_offsets or start is end is None)
  # Sums of float32 exponentials may exceed 1 by a rounding.
  if not (fits and _is_number(probability, -1e-6, 1 + 1e-6)):
    return None
  return Answer(text, start, end, None, float(min(max(probability, 0), 1)))


def _span_texts(value):
  spans = value if isinstance(value, list) else [value]
  texts = [x.get("text") if isinstance(x, dict) else x for x in spans]
  if not all(isinstance(text, str) for text in texts):
    return None
  return [text for text in texts if text]
