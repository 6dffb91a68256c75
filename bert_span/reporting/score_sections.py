"""Scores as sections of the page: overall, by group, with or without answer."""

from bert_span.reporting import score_groups
from bert_span.reporting.markup import (
  Column,
  Section,
  escaped,
  note,
  percent,
  sortable_table,
)
from bert_span.squad.lint.tables import counted

_SCORE_COLUMNS = (
  Column("Group"),
  Column("Questions", is_number=True),
  Column("EM", is_number=True, is_percent=True),
  Column("F1", is_number=True, is_percent=True),
  Column("Probability", is_number=True, is_percent=True),
)
_CONFUSION_COLUMNS = (
  Column("The question"),
  Column("Model answers", is_number=True),
  Column("Model says: no answer", is_number=True),
)
# Key of the official scores -> what it is called here.
_TILES = {
  "exact_match": "EM",
  "exact": "EM",
  "f1": "F1",
  "HasAns_exact": "EM, answerable",
  "HasAns_f1": "F1, answerable",
  "NoAns_f1": "F1, unanswerable",
}


def overview_section(results, scores, calibration_error):
  """The official scores, and how far probabilities can be trusted.

  Args:
    results: list of `QuestionResult`.
    scores: the dict of evaluate_squad1 or evaluate_squad2, in percent.
    calibration_error: expected calibration error from 0 to 1; None without any
      prediction.

  Returns:
    `Section`.
  """
  tiles = {
    title: percent(scores[key])
    for key, title in _TILES.items()
    if key in scores
  }
  tiles["Questions"] = f"{len(results):,}"
  if calibration_error is not None:
    tiles["Calibration error"] = f"{100 * calibration_error:.2f}"
  missing = sum(result.prediction is None for result in results)
  parts = [
    '<dl class="tiles">',
    *(
      f"<div><dt>{escaped(name)}</dt><dd>{escaped(value)}</dd></div>"
      for name, value in tiles.items()
    ),
    "</dl>",
    note(
      "EM (exact match) and F1 as the official evaluator gives them, in "
      "percent. The calibration error is what the model's probability differs "
      "from the share of exact matches, on average, in percentage points."
    ),
  ]
  if missing:
    parts.append(
      note(f"{counted(missing, 'question')} without a prediction, counted 0.")
    )
  return Section("overview", "Overall", "\n".join(parts))


def groups_section(results, num_windows=None):
  """Scores by question word, answer length, answerability and windows.

  Answerability is left out where all questions are alike in it.

  Args:
    results: list of `QuestionResult`.
    num_windows: int [questions], windows of each; None where no model says.

  Returns:
    `Section`.
  """
  tables = [
    ("Question word", score_groups.by_question_word(results)),
    ("Length of the answer", score_groups.by_answer_length(results)),
  ]
  answerable = score_groups.by_answerability(results)
  if len(answerable) > 1:
    tables.append(("Answerable or not", answerable))
  parts = []
  if num_windows is None:
    parts.append(
      note("Scores by number of windows need the model: give --model.")
    )
  else:
    groups = score_groups.by_num_windows(results, num_windows)
    tables.append(("Windows of the passage", groups))
  return Section(
    "groups",
    "Scores by group",
    "\n".join(
      [
        note(
          "EM, F1 and the model's mean probability, in percent of each group. "
          "A click on a heading sorts. The length is that of the first "
          "annotator's answer."
        ),
        '<div class="columns">',
        *(_group_table(title, groups) for title, groups in tables),
        "</div>",
        *parts,
      ]
    ),
  )


def no_answer_section(results):
  """How often questions with and without an answer get one.

  Args:
    results: list of `QuestionResult`.

  Returns:
    `Section`.
  """
  counts = score_groups.no_answer_confusion(results)
  table = sortable_table(
    "Questions by whether they have an answer",
    _CONFUSION_COLUMNS,
    [
      ["has an answer", counts.answered, counts.missed],
      ["has no answer", counts.invented, counts.refused],
    ],
  )
  return Section(
    "no-answer",
    "Answer or no answer",
    "\n".join(
      [
        table,
        note(
          f'"No answer" is right in {_share(counts.precision)} of the cases '
          "in which the model says it (precision), and said for "
          f"{_share(counts.recall)} of the questions without an answer "
          "(recall). A given answer to an answerable question may still be "
          "wrong."
        ),
      ]
    ),
  )


def _group_table(title, groups):
  rows = [
    [group.name, group.questions, group.exact, group.f1, group.probability]
    for group in groups
  ]
  return sortable_table(title, _SCORE_COLUMNS, rows)


def _share(value):
  return "none" if value is None else f"{100 * value:.1f} %"
