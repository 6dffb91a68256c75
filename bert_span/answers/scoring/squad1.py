"""The official metrics of SQuAD 1.1."""

from bert_span.answers.scoring.answer_match import (
  exact_match,
  missing_ids,
  normalize_answer,
  shorten_ids,
  token_f1,
)


def answer_f1(prediction, gold):
  """F1 of the words that two answers share after normalization.

  As evaluate-v1.1: two answers that both normalize to nothing share no word
  and so score 0, although their exact match is 1.
  """
  return token_f1(
    normalize_answer(prediction).split(), normalize_answer(gold).split()
  )


def score_question(example, prediction):
  """Exact match (0 or 1) and F1 with the best of the question's answers."""
  golds = [answer.text for answer in example.answers]
  return (
    max(exact_match(prediction, gold) for gold in golds),
    max(answer_f1(prediction, gold) for gold in golds),
  )


def evaluate_squad1(examples, predictions):
  """Scores predictions as the official evaluator of SQuAD 1.1.

  Each question counts with the annotator's answer that suits the prediction
  best, for either metric independently. A question without a prediction counts
  0, and the log says how many there are.

  Args:
    examples: list of `SquadExample`, each with at least one answer.
    predictions: dict of the predicted text by question id.

  Returns:
    A dict with exact_match and f1, in percent of the questions.

  Raises:
    ValueError: there are no questions, or some have no annotated answer.

  Source: evaluate of evaluate-v1.1.py.
  """
  missing_ids(examples, predictions, "predictions", missing_count="0")
  unanswered = [e.qas_id for e in examples if not e.answers]
  if unanswered:
    raise ValueError(
      "SQuAD 1.1 metrics need at least one annotated answer for every "
      f"question. Received questions without one: {shorten_ids(unanswered)}. "
      "Add their answers or remove them; if they are unanswerable on purpose, "
      "mark the questions with is_impossible and score the file as SQuAD 2.0."
    )
  exact_sum = f1_sum = 0
  for example in examples:
    if example.qas_id in predictions:
      exact, f1 = score_question(example, predictions[example.qas_id])
      exact_sum += exact
      f1_sum += f1
  return {
    "exact_match": 100.0 * exact_sum / len(examples),
    "f1": 100.0 * f1_sum / len(examples),
  }
