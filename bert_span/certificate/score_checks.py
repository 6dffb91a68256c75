"""Point 6: the official metrics."""

from bert_span.answers.scoring import squad1, squad2
from bert_span.answers.scoring.answer_match import exact_match, normalize_answer
from bert_span.certificate.check import Tally

_LIMIT = 1e-9
_VERSION_2 = "v2.0 evaluator"


def check_scores(goldens):
  """Compares all figures of both official evaluators.

  Args:
    goldens: `GoldenFiles`.

  Returns:
    List of `Check`.
  """
  return [
    _check_normalization(goldens),
    _check_pairs(goldens),
    _check_files(goldens),
  ]


def _check_normalization(goldens):
  tally = Tally("Normalized answers")
  for text, normalized in goldens.read("normalize_answer.json"):
    tally.add(normalize_answer(text) == normalized, f"{text[:60]!r}")
  return tally.check()


def _check_pairs(goldens):
  tally = Tally("Exact match and F1 of pairs", _LIMIT)
  for prediction, gold, *originals in goldens.read("answer_pair_scores.json"):
    exact = exact_match(prediction, gold)
    ours = [
      exact,
      squad1.answer_f1(prediction, gold),
      exact,
      squad2.answer_f1(prediction, gold),
    ]
    tally.add_numbers(ours, originals, f"{prediction!r}, {gold!r}")
  return tally.check()


def _check_files(goldens):
  results = goldens.read("eval_results.json")
  tally = Tally(f"Scores of {len(results)} evaluations", _LIMIT)
  examples = {
    version_2: goldens.squad_file(name).examples
    for version_2, name in (
      (False, "squad1_dev_half.json"),
      (True, "squad2_part.json"),
    )
  }
  for key, expected in results.items():
    scores = _evaluate(goldens, key, examples)
    if list(scores) != list(expected):
      tally.add(False, f"{key}: other figures or another order")
      continue
    for name, original in expected.items():
      tally.add_numbers(scores[name], original, f"{key}: {name}")
  return tally.check()


def _evaluate(goldens, key, examples):
  """Runs what a key of eval_results.json says.

  "predictions.json.gz | v2.0 evaluator[, na-prob NAME][, threshold T]"
  """
  predictions_name, evaluation = key.split(" | ")
  evaluator, *options = evaluation.split(", ")
  predictions = goldens.read(predictions_name)
  if evaluator != _VERSION_2:
    return squad1.evaluate_squad1(examples[False], predictions)
  options = dict(option.split() for option in options)
  arguments = {}
  if "na-prob" in options:
    arguments["na_probs"] = goldens.read(f"{options['na-prob']}.json.gz")
  if "threshold" in options:
    arguments["na_prob_thresh"] = float(options["threshold"])
  return squad2.evaluate_squad2(examples[True], predictions, **arguments)
