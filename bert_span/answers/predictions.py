"""Makes predictions of the columns of a decoder, and answers of predictions.

Texts are cut from the contexts and not taken from the decoder: JSON can hold
lone surrogates, the decoder's UTF-8 cannot.
"""

import dataclasses

import numpy as np

from bert_span.squad.example import SquadExample, question_pairs


def answer(predictions, options, question, context, n_best=1):
  """Answers one question, or several; see `Extractor.answer`.

  `predictions` is a function of `SquadExample`s, `options` are its decoder's.
  """
  largest = getattr(options, "n_best_size", n_best)
  if not 1 <= n_best <= largest:
    raise ValueError(
      "n_best must be between 1 and the decoder's n_best_size, "
      f"{largest}. Received: {n_best}."
    )
  return _map(predictions, question, context, lambda p: p.best(n_best))


def answers(predictions, question, context):
  """Returns all spans of one answer, or of several; see `Extractor.answers`."""
  return _map(predictions, question, context, lambda p: list(p.spans))


def _map(predictions, question, context, function):
  pairs = enumerate(question_pairs(question, context))
  examples = [SquadExample(str(i), *pair) for i, pair in pairs]
  results = list(map(function, predictions(examples)))
  return results[0] if isinstance(question, str) else results


def predictions_of(table, examples, outputs):
  """Returns the list of `Prediction` of a batch.

  `table` is an `AnswerColumns`, and `outputs` has its columns `predicted`.
  """
  columns = {n: np.asarray(outputs[n]).tolist() for n in table.predicted}
  ids, contexts = (
    [getattr(example, name) for example in examples]
    for name in ("qas_id", "context")
  )
  return list(table.predictions(ids, contexts, columns))


def as_original_without_span(predictions, version_2_with_negative):
  """Gives each `Prediction` without a possible span the answer of run_squad.

  For such a question all n-best candidates touch the question or the padding,
  or the passage has no token. run_squad answers with the word "empty"; with
  version_2_with_negative it ends in an exception, here a ValueError.

  Source: google-research/bert, run_squad.py, write_predictions.
  """
  results, changed = [], []
  for prediction in predictions:
    if all(entry.char_end <= entry.char_start for entry in prediction.n_best):
      changed.append(prediction.qas_id)
      empty, null = (
        dataclasses.replace(answer, text="empty")
        for answer in (prediction.answer, prediction.n_best[0])
      )
      prediction = dataclasses.replace(prediction, answer=empty, n_best=(null,))
    results.append(prediction)
  if version_2_with_negative and changed:
    raise ValueError(
      f"no_span=original: no span is possible for {len(changed)} of "
      f"{len(predictions)} questions (first: {', '.join(changed[:5])}); the "
      "original ends in an exception there. Use no_span=no_answer."
    )
  return results
