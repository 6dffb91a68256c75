"""Reads predictions of any number of spans a question."""

from bert_span.storage.files import read_json_object
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
  return {
    qas_id: _texts(path, qas_id, spans)
    for qas_id, spans in read_json_object(path).items()
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
