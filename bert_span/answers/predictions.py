"""Predictions from the columns of a decoder, and answers from predictions.

Texts are cut from each example's own context and not taken from the decoder's
UTF-8, which cannot hold the lone surrogates that JSON can.
"""

import dataclasses

import numpy as np

from bert_span.squad.example import SquadExample, question_pairs


def answer(predictions, options, question, context, n_best=1):
  """Answers one question, or several; see `Extractor.answer`.

  `predictions` is a function of `SquadExample`s, with options for its decoder.
  """
  largest = getattr(options, "n_best_size", n_best)
  if not 1 <= n_best <= largest:
    raise ValueError(
      "n_best must be between 1 and the decoder's n_best_size, "
      f"{largest}. Received: {n_best}."
    )
  return _ask(predictions, question, context, lambda p: p.best(n_best))


def answers(predictions, question, context):
  """The answer to one question, or to several; see `Extractor.answers`."""
  return _ask(predictions, question, context, lambda p: list(p.spans))


def _ask(predictions, question, context, form_of):
  pairs = enumerate(question_pairs(question, context))
  examples = [SquadExample(str(i), *pair) for i, pair in pairs]
  formed = list(map(form_of, predictions(examples)))
  return formed[0] if isinstance(question, str) else formed


def predictions_of(table, examples, outputs):
  """Returns the list of `Prediction` of a batch.

  `outputs` has the columns `predicted` of the `AnswerColumns`.
  """
  columns = {n: np.asarray(outputs[n]).tolist() for n in table.predicted}
  ids, contexts = (
    [getattr(example, name) for example in examples]
    for name in ("qas_id", "context")
  )
  return list(table.predictions(ids, contexts, columns))


def as_original_without_span(predictions, version_2_with_negative):
  """Gives each `Prediction` without a possible span the answer of run_squad.

  The n-best candidates of such a question all touch the question or the
  padding, or its passage has no token. run_squad answers with the word "empty";
  with version_2_with_negative it ends in an exception, here a ValueError.

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
      f"--no_span=original: no span is possible for {len(changed)} of "
      f"{len(predictions)} questions (first: {', '.join(changed[:5])}); the "
      "original ends in an exception there. Use --no_span=no_answer."
    )
  return results
