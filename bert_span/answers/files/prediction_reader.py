"""Reads predictions, n-best lists and no-answer scores, and checks them.

All are JSON files with one object whose keys are question ids.
"""

import math
from typing import NamedTuple

from bert_span.storage.files import read_json_object
from bert_span.storage.json_fields import is_kind, shortened
from bert_span.storage.log import log_line


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


def read_predictions(path):
  """The predicted texts of a predictions.json.

  Args:
    path: a JSON file {"question id": "text"}, local or of tf.io.gfile.

  Returns:
    A dict from question id to text, in the order of the file.

  Raises:
    OSError: the file cannot be read.
    ValueError: it is not such a file; the message names file and question.
  """
  return _read(path, _text)


def read_na_probs(path):
  """The no-answer scores of a null_odds.json or a file of probabilities.

  Args, Raises: see `read_predictions`; the values are numbers.

  Returns:
    A dict from question id to a finite number, in the order of the file.
  """
  return _read(path, _na_prob)


def read_n_best(path):
  """The n-best lists of a nbest_predictions.json, of ours or the original's.

  Args, Raises: see `read_predictions`; the values are lists of objects with
    text and probability.

  Returns:
    A dict from question id to a tuple of `ListedAnswer`, in the order of the
    file.
  """
  return _read(path, _n_best_list)


def read_span_predictions(path):
  """The predicted spans of a span_predictions.json or a predictions.json.

  Args, Raises: see `read_predictions`; a value is a list of texts (as
    MultiSpanQA's evaluator reads it) or of objects with the key "text" (as
    run_squad writes it), or one text. "" is no answer, like [].

  Returns:
    A dict from question id to a list of str.
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
