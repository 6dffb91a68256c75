"""Scores of groups of questions: where a model is good and where it is not."""

import dataclasses
import re

# Sequences of two come first: "how many" is no "how".
_QUESTION_WORDS = {
  "how many": "how many, how much",
  "how much": "how many, how much",
  "who": "who",
  "whom": "who",
  "whose": "who",
  "what": "what",
  "which": "which",
  "when": "when",
  "where": "where",
  "why": "why",
  "how": "how",
}
_OTHER = "other"
_QUESTION_WORD = re.compile(
  r"\b(" + "|".join(_QUESTION_WORDS) + r")\b", re.IGNORECASE
)
_NO_ANSWER = "no answer"
# Longest answer in words -> name of the group.
_LENGTHS = (
  (1, "1 word"),
  (2, "2 words"),
  (4, "3-4 words"),
  (8, "5-8 words"),
)
_LONGER = "9 words or more"
_MOST_WINDOWS = 4  # apart; more are one group


@dataclasses.dataclass(frozen=True)
class GroupScore:
  """What a group of questions comes to.

  Attributes:
    name: of the group.
    questions: how many.
    exact: exact matches, in percent of the questions.
    f1: mean F1, in percent.
    probability: mean probability of the predictions, in percent; None where
      there is no prediction.
  """

  name: str
  questions: int
  exact: float
  f1: float
  probability: float | None


@dataclasses.dataclass(frozen=True)
class NoAnswerConfusion:
  """Questions by whether they have an answer and whether one is predicted.

  Attributes:
    answered: questions with an answer and a prediction, right or wrong.
    missed: questions with an answer, taken as unanswerable.
    invented: unanswerable questions with a prediction.
    refused: unanswerable questions, taken as such.
  """

  answered: int
  missed: int
  invented: int
  refused: int

  @property
  def precision(self):
    """Share of unanswerable ones among predictions of none; None of none."""
    return _share(self.refused, self.refused + self.missed)

  @property
  def recall(self):
    """Share of the unanswerable ones that are taken as such, or None."""
    return _share(self.refused, self.refused + self.invented)


def score_group(name, results):
  """The scores of some questions.

  Args:
    name: of the group.
    results: list of `QuestionResult`, not empty.

  Returns:
    `GroupScore`.
  """
  total = len(results)
  probabilities = [
    result.probability for result in results if result.probability is not None
  ]
  return GroupScore(
    name,
    total,
    100.0 * sum(result.exact for result in results) / total,
    100.0 * sum(result.f1 for result in results) / total,
    100.0 * sum(probabilities) / len(probabilities) if probabilities else None,
  )


def by_answer_length(results):
  """Scores by the words of the first annotator's answer.

  Args:
    results: list of `QuestionResult`.

  Returns:
    List of `GroupScore`, the shortest answers first, those without any last.
  """
  names = [name for _, name in _LENGTHS]
  return _grouped(
    results,
    [_length_name(result) for result in results],
    [*names, _LONGER, _NO_ANSWER],
  )


def by_question_word(results):
  """Scores by the first English question word of each question.

  Args:
    results: list of `QuestionResult`.

  Returns:
    List of `GroupScore`, the largest group first.
  """
  names = [question_word(result.example.question) for result in results]
  order = sorted(dict.fromkeys(names), key=lambda name: -names.count(name))
  return _grouped(results, names, order)


def by_answerability(results):
  """Scores of the questions that have an answer and of those without.

  Args:
    results: list of `QuestionResult`.

  Returns:
    List of `GroupScore`.
  """
  names = [
    "answerable" if result.has_answer else "unanswerable" for result in results
  ]
  return _grouped(results, names, ["answerable", "unanswerable"])


def by_num_windows(results, num_windows):
  """Scores by how many windows the model reads of the passage.

  Args:
    results: list of `QuestionResult`.
    num_windows: int [questions], windows of each.

  Returns:
    List of `GroupScore`, the fewest windows first.
  """
  least = range(_MOST_WINDOWS + 1)
  names = [_windows_name(int(number)) for number in num_windows]
  order = [_windows_name(number) for number in (*least, _MOST_WINDOWS + 1)]
  return _grouped(results, names, order)


def question_word(question):
  """The group of a question by its first English question word.

  "In what year did whoever came leave?" is a "what": words count whole.

  Args:
    question: str.

  Returns:
    "who" (also whom, whose), "what", "which", "when", "where", "why", "how",
    "how many, how much", or "other".
  """
  found = _QUESTION_WORD.search(" ".join(question.split()))
  return _QUESTION_WORDS[found.group(1).lower()] if found else _OTHER


def no_answer_confusion(results):
  """Counts questions by whether they have an answer and one is predicted.

  Args:
    results: list of `QuestionResult`.

  Returns:
    `NoAnswerConfusion`.
  """
  counts = {(has, says): 0 for has in (True, False) for says in (True, False)}
  for result in results:
    counts[result.has_answer, bool(result.prediction)] += 1
  return NoAnswerConfusion(
    answered=counts[True, True],
    missed=counts[True, False],
    invented=counts[False, True],
    refused=counts[False, False],
  )


def worst_errors(results, num_errors):
  """The questions that are wrong, the surest and farthest off first.

  An error weighs probability * (1 - F1): a model that is sure of a wrong
  answer is worse than one that doubts it, and a span too long is better than
  another one. Equal errors keep their order.

  Args:
    results: list of `QuestionResult`.
    num_errors: how many to give at most.

  Returns:
    List of `QuestionResult` that are no exact match and have a prediction.
  """
  errors = [
    result
    for result in results
    if not result.exact and result.probability is not None
  ]
  errors.sort(key=lambda result: -result.probability * (1.0 - result.f1))
  return errors[:num_errors]


def _grouped(results, names, order):
  """The scores of each group that has questions, in that order."""
  groups = {name: [] for name in order}
  for result, name in zip(results, names, strict=True):
    groups[name].append(result)
  return [score_group(name, group) for name, group in groups.items() if group]


def _length_name(result):
  if not result.has_answer:
    return _NO_ANSWER
  words = len(result.example.answers[0].text.split())
  return next((name for most, name in _LENGTHS if words <= most), _LONGER)


def _windows_name(number):
  if number > _MOST_WINDOWS:
    return f"{_MOST_WINDOWS + 1} windows or more"
  return f"{number} window" + ("" if number == 1 else "s")


def _share(part, whole):
  return part / whole if whole else None
