"""Predictions of the Python path as the rows that a SavedModel must answer.

A row holds the served columns that are compared: texts, whole numbers and
truth values must be equal, floats may differ by a tolerance. Lists have no
padding here; behind their entries the SavedModel may have some.
"""

from bert_span.storage.utf8 import encodable


def span_row(prediction):
  """The row of a `SpanServer`.

  Texts and places of the n-best list are left out: entries of equal score may
  change places.

  Args:
    prediction: `Prediction`.

  Returns:
    Dict of served column to value, or to a list of values.
  """
  entries = prediction.n_best
  return {
    **_best(prediction),
    "n_best_count": len(entries),
    "n_best_score": [entry.score for entry in entries],
    "n_best_probability": [entry.probability for entry in entries],
  }


def bio_row(prediction):
  """The row of a `BioServer`: every span with its place.

  Args:
    prediction: `BioPrediction`.

  Returns:
    Dict of served column to value, or to a list of values.
  """
  spans = prediction.spans
  return {
    **_best(prediction),
    "span_count": len(spans),
    "span_text": [encodable(span.text) for span in spans],
    **{
      f"span_{name}": [getattr(span, name) for span in spans]
      for name in ("char_start", "char_end", "score", "probability")
    },
  }


def _best(prediction):
  """What the rows of all heads have: the best answer."""
  return {
    "answer": encodable(prediction.text),
    "char_start": prediction.char_start,
    "char_end": prediction.char_end,
    "is_answerable": bool(prediction.text),
    "score": prediction.score,
    "probability": prediction.probability,
    "null_odds": prediction.null_odds,
  }
