"""Reads predictions of any number of spans a question."""

import json
import os

from bert_span.storage.input_file import read_bytes
from bert_span.storage.json_fields import shortened


def read_span_predictions(path):
  """Reads a span_predictions.json, or a prediction file of one text each.

  Args:
    path: JSON object by question id: a list of texts (as MultiSpanQA's
      evaluator reads it) or of objects with the key "text" (as run_squad
      writes it), or one text. "" is no answer, like [].

  Returns:
    dict of question id to list of str.

  Raises:
    OSError: the file cannot be read.
    ValueError: it holds something else.
  """
  path = os.fspath(path)
  try:
    value = json.loads(read_bytes(path).decode("utf-8-sig"))
  except ValueError as error:
    raise ValueError(f"{path}: not JSON in UTF-8: {error}") from error
  if not isinstance(value, dict):
    raise ValueError(
      f"{path}: must be one JSON object with question ids as keys. Received: "
      f"{shortened(value)}. Give a file as run_squad writes it."
    )
  return {
    qas_id: _texts(path, qas_id, spans) for qas_id, spans in value.items()
  }


def _texts(path, qas_id, value):
  """The texts of one question."""
  spans = value if isinstance(value, list) else [value]
  texts = [
    span.get("text") if isinstance(span, dict) else span for span in spans
  ]
  if not all(isinstance(text, str) for text in texts):
    raise ValueError(
      f"{path}: question {qas_id}: must have a text or a list of spans, [] for "
      f"no answer. Received: {shortened(value)}. Give each span's text."
    )
  return [text for text in texts if text]
