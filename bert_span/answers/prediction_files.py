"""Predictions in files: run_squad's, span_predictions.json, and rows.

run_squad's files are JSON objects with question ids as keys. Rows of answers,
a question a row, are JSON lines or Parquet:

  id, answer, char_start, char_end, score, probability, null_odds
  n_best   of a span head, for n_best above 1: objects of text, char_start,
           char_end, score, probability, best first
  spans    of a B/I/O head: the same objects, in order of position

"No answer" is "" with offsets null.
"""

import json
import math
from typing import NamedTuple

from bert_span.answers.decoding.predictions import as_original_without_span
from bert_span.storage.atomic_file import (
  json_text,
  open_atomically,
  write_files,
)
from bert_span.storage.files import read_json_object
from bert_span.storage.json_fields import is_kind, shortened
from bert_span.storage.log import log_line
from bert_span.storage.utf8 import encodable

PREDICTIONS_FILE = "predictions.json"
N_BEST_FILE = "nbest_predictions.json"
SPANS_FILE = "span_predictions.json"
NULL_ODDS_FILE = "null_odds.json"

_BETWEEN_VALUES = ",\n" + 12 * " "
_BETWEEN_ENTRIES = "\n        },\n        {\n" + 12 * " "
_encode_entry = json.JSONEncoder(separators=(_BETWEEN_VALUES, ": ")).encode


class ListedAnswer(NamedTuple):
  """One entry of a question's n-best list in a file.

  Attributes:
    text: the answer; "" for "no answer".
    probability: from 0 to 1.
    char_start, char_end: half-open offsets into the passage in characters;
      None for "no answer", and in files of the original, which has none.
  """

  text: str
  probability: float
  char_start: int | None = None
  char_end: int | None = None


def write_predictions(
  output_dir,
  head,
  predictions,
  version_2_with_negative,
  no_span="no_answer",
  others=None,
):
  """Writes the prediction files of a head, logs a summary, returns predictions.

  All files are new afterwards, or all are the old ones if one cannot be
  written. `others` are the contents of more files, by name. The no_span
  "original" gives the answers of `as_original_without_span`.
  """
  if no_span == "original":
    predictions = as_original_without_span(predictions, version_2_with_negative)
  files = head.prediction_files(predictions, version_2_with_negative)
  paths = write_files(output_dir, {**files, **(others or {})})
  num_empty = sum(not prediction.text for prediction in predictions)
  log_line(
    f"{len(predictions)} questions answered, {num_empty} of them with no "
    f"answer: {', '.join(paths)}"
  )
  return predictions


def span_prediction_files(predictions, version_2_with_negative):
  """The texts of predictions.json, nbest_predictions.json and null_odds.json.

  The format is run_squad's, questions in the order given. An n-best entry also
  has char_start and char_end, in characters of the context; null for "no
  answer". null_odds.json is for version 2 only. Returns a dict by file name.
  """
  n_best = {N_BEST_FILE: _n_best_json(predictions)}
  return _files(predictions, version_2_with_negative, n_best)


def bio_prediction_files(predictions, version_2_with_negative):
  """The texts of predictions.json, span_predictions.json and null_odds.json.

  predictions.json holds the best span's text, so that SQuAD's evaluators read
  it; span_predictions.json all spans of a question, in order of position, each
  with text, char_start, char_end, score and probability. Otherwise as
  `span_prediction_files`, of `BioPrediction`.
  """
  spans = {p.qas_id: [s._asdict() for s in p.spans] for p in predictions}
  return _files(
    predictions, version_2_with_negative, {SPANS_FILE: json_text(spans)}
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


def _files(predictions, version_2, lists):
  texts = {p.qas_id: p.text for p in predictions}
  files = {PREDICTIONS_FILE: json_text(texts), **lists}
  if version_2:
    null_odds = {p.qas_id: p.null_odds for p in predictions}
    files[NULL_ODDS_FILE] = json_text(null_odds)
  return files


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


def read_predictions(path):
  """The dict of a predictions.json, local or remote: question ids to texts.

  Raises:
    OSError: the file cannot be read.
    ValueError: it is not such a file; the message names file and question.
  """
  return _read(path, _text)


def read_na_probs(path):
  """As `read_predictions`, the finite no-answer scores of a null_odds.json."""
  return _read(path, _na_prob)


def read_n_best(path):
  """The n-best lists of a nbest_predictions.json, of ours or the original's.

  As `read_predictions`; the values are tuples of `ListedAnswer`.
  """
  return _read(path, _n_best_list)


def read_span_predictions(path):
  """The predicted spans of a span_predictions.json or a predictions.json.

  As `read_predictions`; in the file a value is a list of texts (as
  MultiSpanQA's evaluator reads it) or of objects with the key "text" (as
  run_squad writes it), or one text. "" is no answer, like []. The values
  returned are lists of str.
  """
  return _read(path, _span_texts)


def _read(path, parse):
  """The values of a file by question id, as parse(value) returns them."""
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
    try:
      values[qas_id] = parse(value)
    except ValueError as error:
      raise ValueError(
        f"{path}: question {shortened(qas_id)}: {error}"
      ) from error
  return values


def _text(value):
  if isinstance(value, str):
    return value
  raise ValueError(
    f"the prediction must be a string. Received: {shortened(value)}. "
    + (
      "This looks like an nbest_predictions.json: give its predictions.json."
      if isinstance(value, list)
      else 'Put "" for a question without an answer.'
    )
  )


def _na_prob(value):
  if _is_number(value):
    try:
      if math.isfinite(value):
        return value
    except OverflowError:  # An integer beyond the range of floats.
      pass
  raise ValueError(
    f"the no-answer score must be a finite number. Received: "
    f"{shortened(value)}. Give a probability, or a number that is higher the "
    "less likely an answer is, such as run_squad's null_odds.json holds."
  )


def _n_best_list(value):
  if not isinstance(value, list) or not value:
    raise ValueError(
      "must have a list of at least one answer. Received: "
      f"{shortened(value)}. Give the nbest_predictions.json of run_squad."
    )
  return tuple(_listed_answer(*entry) for entry in enumerate(value))


def _listed_answer(number, entry):
  if not isinstance(entry, dict):
    entry = {}
  text, probability = entry.get("text"), entry.get("probability")
  start, end = entry.get("char_start"), entry.get("char_end")
  has_offsets = is_kind(start, int) and is_kind(end, int) and 0 <= start <= end
  if (
    not isinstance(text, str)
    # Sums of float32 exponentials may exceed 1 by a rounding. NaN fails, too.
    or not (_is_number(probability) and -1e-6 <= probability <= 1 + 1e-6)
    or not (has_offsets or start is end is None)
  ):
    raise ValueError(
      f"entry {number}: must be an object with the string text, a probability "
      "from 0 to 1, and char_start and char_end, half-open offsets in "
      f"characters or null. Received: {shortened(entry)}. Give the "
      "nbest_predictions.json of run_squad."
    )
  return ListedAnswer(text, float(min(max(probability, 0), 1)), start, end)


def _span_texts(value):
  spans = value if isinstance(value, list) else [value]
  texts = [
    span.get("text") if isinstance(span, dict) else span for span in spans
  ]
  if not all(isinstance(text, str) for text in texts):
    raise ValueError(
      "must have a text or a list of spans, [] for no answer. Received: "
      f"{shortened(value)}. Give each span's text."
    )
  return [text for text in texts if text]


def _is_number(value):
  return is_kind(value, int) or is_kind(value, float)


def answer_row(example, answer, head, n_best=1):
  """The row of an answer, a dict of JSON values; texts are the passage's.

  `answer` is a prediction of the `AnswerHead`, or a `ServedAnswer`; n_best=1
  gives no n-best list.
  """
  best = _row_entry(example.context, answer)
  row = {"id": example.qas_id, "answer": best.pop("text"), **best}
  row["null_odds"] = answer.null_odds
  for name, spans in head.lists_of(answer, n_best).items():
    row[name] = [_row_entry(example.context, span) for span in spans]
  return row


def write_rows(path, rows, format):
  """Writes a file of `answer_row`s, "jsonl" or "parquet", or nothing."""
  if format == "jsonl":
    write_json_lines(path, rows)
    return
  from pyarrow import parquet  # comes with Beam, an extra

  with open_atomically(path, binary=True) as file:
    parquet.write_table(_table(rows), file)


def write_json_lines(path, rows):
  """Writes a file of dicts as JSON lines in ASCII, or nothing."""
  with open_atomically(path) as file:
    for row in rows:
      file.write(json.dumps(row) + "\n")


def _row_entry(context, span):
  """A span's fields; offsets None for no answer."""
  is_span = span.char_end > span.char_start
  return {
    "text": context[span.char_start : span.char_end],
    "char_start": span.char_start if is_span else None,
    "char_end": span.char_end if is_span else None,
    "score": span.score,
    "probability": span.probability,
  }


def _table(rows):
  """Rows as a pyarrow table; its columns do not depend on the rows."""
  import pyarrow as pa

  place = [
    ("char_start", pa.int32()),
    ("char_end", pa.int32()),
    ("score", pa.float64()),
    ("probability", pa.float64()),
  ]
  entries = pa.list_(pa.struct([("text", pa.string()), *place]))
  schema = pa.schema(
    [
      *(("id", pa.string()), ("answer", pa.string()), *place),
      *(("null_odds", pa.float64()), ("n_best", entries), ("spans", entries)),
    ]
  )
  return pa.Table.from_pylist([_encodable_row(row) for row in rows], schema)


def _encodable_row(row):
  """A row without lone surrogates, which JSON can hold and Parquet cannot."""

  def clean(value):
    if isinstance(value, list):
      return [_encodable_row(entry) for entry in value]
    return encodable(value) if isinstance(value, str) else value

  return {name: clean(value) for name, value in row.items()}
