"""Prediction files and no-answer scores, checked as they are read."""

import math

from absl import logging

from bert_span.answers.files.prediction_ids import shorten_id
from bert_span.storage.files import read_json_object
from bert_span.storage.json_fields import shortened


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
  predictions = load_json_object(path)
  for qas_id, text in predictions.items():
    if not isinstance(text, str):
      hint = (
        "This looks like an nbest_predictions.json; give its predictions.json."
        if isinstance(text, list)
        else 'Put "" for a question that is not answered.'
      )
      raise ValueError(
        f"{path}: question {shorten_id(qas_id)}: the prediction must be a "
        f"string. Received: {shortened(text)}. {hint}"
      )
  return predictions


def read_na_probs(path):
  """The no-answer scores of a null_odds.json or a file of probabilities.

  Args:
    path: a JSON file {"question id": number}, local or of tf.io.gfile.

  Returns:
    A dict from question id to a finite number, in the order of the file.

  Raises:
    OSError: the file cannot be read.
    ValueError: it is not such a file; the message names file and question.
  """
  na_probs = load_json_object(path)
  for qas_id, value in na_probs.items():
    if not _is_finite_number(value):
      raise ValueError(
        f"{path}: question {shorten_id(qas_id)}: the no-answer score must be a "
        f"finite number. Received: {shortened(value)}. Give a probability, or "
        "a number that is higher the less likely an answer is, such as "
        "run_squad's null_odds.json holds."
      )
  return na_probs


def load_json_object(path):
  """A JSON file's single object as a dict; a repeated key is reported.

  Args:
    path: a JSON file with question ids as keys, local or of tf.io.gfile.

  Returns:
    A dict in the order of the file; of a repeated key the last value.

  Raises:
    OSError: the file cannot be read.
    ValueError: it is not JSON in UTF-8, or no single object.
  """
  repeated = []

  def to_dict(pairs):
    result = dict(pairs)
    if len(result) < len(pairs):
      repeated.append(len(pairs) - len(result))
    return result

  value = read_json_object(path, object_pairs_hook=to_dict)
  if repeated:
    # As the official evaluators, which do not notice.
    logging.warning(
      "%s: %d repeated question ids; the last entry of each counts.",
      path,
      sum(repeated),
    )
  return value


def _is_finite_number(value):
  if isinstance(value, bool) or not isinstance(value, int | float):
    return False
  try:
    return math.isfinite(value)
  except OverflowError:  # An integer beyond the range of floats.
    return False
