"""What run_squad does with a question for which no span is possible."""

import dataclasses

_EMPTY = "empty"


def as_original_without_span(predictions, version_2_with_negative):
  """Gives questions without a possible span what run_squad gives them.

  Such a question has no span among its n-best candidates: all of them cross the
  question or the padding, or its passage has no token. run_squad answers it
  with the word "empty"; with version_2_with_negative it ends in an exception.

  Args:
    predictions: list of Prediction.
    version_2_with_negative: run_squad's flag of this name.

  Returns:
    List of Prediction.

  Raises:
    ValueError: version_2_with_negative, and there is such a question.

  Source: google-research/bert, run_squad.py, write_predictions.
  """
  without_span = [p.qas_id for p in predictions if not _has_span(p)]
  if version_2_with_negative and without_span:
    named = ", ".join(without_span[:5])
    raise ValueError(
      f"--no_span=original: no span is possible for {len(without_span)} of "
      f"{len(predictions)} questions (first: {named}), on which the original "
      "ends in an exception. Use --no_span=no_answer."
    )
  names = set(without_span)
  return [_named_empty(p) if p.qas_id in names else p for p in predictions]


def _has_span(prediction):
  return any(entry.char_end > entry.char_start for entry in prediction.n_best)


def _named_empty(prediction):
  (entry,) = prediction.n_best
  return dataclasses.replace(
    prediction,
    text=_EMPTY,
    n_best=(entry._replace(text=_EMPTY),),
  )
