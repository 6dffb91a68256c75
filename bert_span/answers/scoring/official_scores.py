"""The official metrics of the data: SQuAD 1.1's or 2.0's."""

import math

from bert_span.answers.scoring import squad1, squad2


def official_scores(
  squad_file, predictions, na_probs=None, na_prob_thresh=math.inf
):
  """Scores predictions with the official metrics of their data.

  Args:
    squad_file: `SquadFile` with the annotators' answers.
    predictions: dict of text by question id.
    na_probs: dict of the no-answer score by question id, or None. With them
      the metrics are those of SQuAD 2.0, whatever the file.
    na_prob_thresh: scores above this mean "no answer".

  Returns:
    Dict of `evaluate_squad2` for SQuAD 2.0, else of `evaluate_squad1`.

  Raises:
    ValueError: questions and predictions do not fit together.
  """
  examples = squad_file.examples
  if squad_file.version_2 or na_probs is not None:
    return squad2.evaluate_squad2(
      examples, predictions, na_probs, na_prob_thresh
    )
  return squad1.evaluate_squad1(examples, predictions)


def question_scores(example, prediction, version_2):
  """Exact match and F1 of one question, from 0 to 1."""
  if not version_2:
    return squad1.score_question(example, prediction)
  score = squad2.score_question(example, prediction)
  return score.exact, score.f1
