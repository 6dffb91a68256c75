r"""Scores a model on each kind of question.

  python -m benchmarks.minilm_squad.scores --model=MODEL --data=DIR \
    [--part=held_out] [--answered=0.95]

DIR is the --output_dir of data.py. Columns, in percent:
  answered   share of the answerable questions that get an answer
  EM, F1     of the answerable questions; "no answer" counts 0
  forced     the same without "no answer"
  the rest   share of unanswerable questions of that sort with "no answer"
The last table shows what other null thresholds give, over all kinds:
  right      share of the given answers that are exact matches
"""

import collections
import glob
import os
import random

import numpy as np
from absl import flags

from benchmarks.inputs import check, count_flag
from benchmarks.tables import print_head, print_row
from bert_span.cli import program

_MODEL = flags.DEFINE_string(
  "model", None, "Model directory, or minilm_squad.", required=True
)
_DATA = flags.DEFINE_string(
  "data", None, "Output folder of benchmarks.minilm_squad.data.", required=True
)
_PART = flags.DEFINE_enum(
  "part", "select", ["select", "held_out"], "Which articles to score on."
)
_QUESTIONS = count_flag(
  "questions",
  600,
  "Maximum number of questions of each kind and sort, drawn at random.",
)
_ANSWERED = flags.DEFINE_float(
  "answered",
  None,
  "Share of the answerable questions that get an answer in a second table, "
  "which uses the null threshold with that share.",
  lower_bound=0.0,
  upper_bound=1.0,
)
_UNANSWERABLE = ("adversarial", "neighbouring", "across")
_CURVE = (0.99, 0.97, 0.95, 0.9, 0.8, 0.7, 0.5)  # Shares that get an answer.


def main(argv):
  """Answers the questions of all kinds, then prints the tables."""
  from bert_span.extractors.span_extractor import SpanExtractor

  extractor = SpanExtractor.from_preset(_MODEL.value)
  answers = {}  # by kind: list of (example, Prediction)
  for kind, examples in _read().items():
    predictions = extractor.predictions(examples)
    answers[kind] = list(zip(examples, predictions, strict=True))
  answers["all"] = [pair for pairs in answers.values() for pair in pairs]
  threshold = extractor.decoder_options.null_score_diff_threshold
  _print_table(answers, "its own null threshold", threshold)
  odds = [p.answer.null_odds for e, p in answers["all"] if e.answers]
  if _ANSWERED.value is not None:
    threshold = float(np.quantile(odds, _ANSWERED.value))
    _print_table(answers, "the null threshold of --answered", threshold)
  _print_curve(answers["all"], np.quantile(odds, _CURVE))


def _read():
  """Returns a dict from kind to list of `SquadExample`."""
  from bert_span.squad.reader import read_squad

  prefix = os.path.join(_DATA.value, f"{_PART.value}_")
  paths = sorted(glob.glob(f"{prefix}*.json"))
  check(paths, f"--data: there is no {prefix}*.json.")
  return {
    path.removeprefix(prefix).removesuffix(".json"): _sample(
      read_squad(path).examples
    )
    for path in paths
  }


def _sample(examples):
  """Returns at most --questions of each sort."""
  by_sort = collections.defaultdict(list)
  for example in examples:
    by_sort[_sort(example)].append(example)
  chance = random.Random(0)
  return [
    example
    for group in by_sort.values()
    for example in chance.sample(group, min(_QUESTIONS.value, len(group)))
  ]


def _sort(example):
  return example.qas_id.split("/")[1]


def _print_table(answers, name, threshold):
  print(f"\n{_MODEL.value}, {_PART.value}, {name}, {threshold:.3f}\n")
  print_head(
    *("kind", "answerable", "answered", "EM", "F1", "forced EM", "forced F1"),
    *_UNANSWERABLE,
    text=("kind",),
  )
  for kind, pairs in answers.items():
    print_row(kind, *_row(pairs, threshold))


def _print_curve(pairs, thresholds):
  print()
  print_head("threshold", "answered", "right", "EM", "F1", *_UNANSWERABLE)
  for threshold in thresholds:
    _, answered, exact, f1, _, _, *refused = _row(pairs, threshold)
    given = [
      _score(example, _best_span(prediction))[0]
      for example, prediction in pairs
      if prediction.answer.null_odds <= threshold
    ]
    right = f"{100 * np.mean(given):.1f}"
    print_row(f"{threshold:.2f}", answered, right, exact, f1, *refused)


def _best_span(prediction):
  return next((e.text for e in prediction.n_best if e.text), "")


def _row(pairs, threshold):
  """Returns the cells of a row after the first."""
  allowed, forced = [], []  # _score of the answerable questions
  right = collections.defaultdict(list)  # by sort of unanswerable question
  for example, prediction in pairs:
    says_nothing = prediction.answer.null_odds > threshold
    if example.answers:
      best = _best_span(prediction)
      forced.append(_score(example, best))
      allowed.append(_score(example, "" if says_nothing else best))
    else:
      right[_sort(example)].append(says_nothing)
  exact, f1, answered = 100 * np.mean(allowed, axis=0)
  forced_exact, forced_f1, _ = 100 * np.mean(forced, axis=0)
  figures = (answered, exact, f1, forced_exact, forced_f1)
  return [
    f"{len(allowed):,}",
    *(f"{figure:.1f}" for figure in figures),
    *(
      f"{100 * np.mean(right[sort]):.1f} of {len(right[sort])}"
      if right[sort]
      else "-"
      for sort in _UNANSWERABLE
    ),
  ]


def _score(example, text):
  """Returns (exact, F1, whether an answer is given), each from 0 to 1."""
  from bert_span.scoring.squad_scores import question_scores

  return *question_scores(example, text, version_2=True), bool(text)


if __name__ == "__main__":
  program.run_program(main)
