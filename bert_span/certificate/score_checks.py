"""Check 6: the official metrics."""

from bert_span.answers.scoring.squad_scores import (
  answer_f1,
  evaluate_squad1,
  evaluate_squad2,
  exact_match,
  normalize_answer,
)
from bert_span.certificate.comparison import Comparison

_LIMIT = 1e-9


def compare_scores(goldens):
  normalized = Comparison("Normalized answers")
  for text, expected in goldens.read("normalize_answer.json"):
    normalized.add(normalize_answer(text) == expected, f"{text[:60]!r}")
  yield normalized
  pairs = Comparison("Exact match and F1 of pairs", _LIMIT)
  for prediction, gold, *originals in goldens.read("answer_pair_scores.json"):
    exact = exact_match(prediction, gold)
    f1, f1_version_2 = (answer_f1(prediction, gold, v) for v in (False, True))
    ours = [exact, f1, exact, f1_version_2]
    pairs.add_numbers(ours, originals, f"{prediction!r}, {gold!r}")
  yield pairs
  yield _compare_evaluations(goldens)


def _compare_evaluations(goldens):
  evaluations = goldens.read("eval_results.json")
  comparison = Comparison(f"Scores of {len(evaluations)} evaluations", _LIMIT)
  examples1, examples2 = (
    goldens.squad_file(goldens.plan["scores"][version]["file"]).examples
    for version in ("v1", "v2")
  )
  for key, expected in evaluations.items():
    # "predictions.json.gz | v2.0 evaluator[, na-prob NAME][, threshold T]"
    file, evaluation = key.split(" | ")
    evaluator, *options = evaluation.split(", ")
    predictions = goldens.read(file)
    if evaluator == "v2.0 evaluator":
      options = dict(option.split() for option in options)
      arguments = {}
      if "na-prob" in options:
        name = f"{options['na-prob']}.json.gz"
        arguments["na_probs"] = goldens.read(name)
      if "threshold" in options:
        arguments["na_prob_thresh"] = float(options["threshold"])
      scores = evaluate_squad2(examples2, predictions, **arguments)
    else:
      scores = evaluate_squad1(examples1, predictions)
    if list(scores) != list(expected):
      comparison.add(False, f"{key}: other metrics, or in another order")
      continue
    for name, original in expected.items():
      comparison.add_numbers(scores[name], original, f"{key}: {name}")
  return comparison
