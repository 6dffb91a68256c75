"""Scores single questions, and groups of questions."""

import bisect
import collections
import dataclasses
import re
from typing import NamedTuple

from bert_span.answers.answer import Answer
from bert_span.options.messages import shortened
from bert_span.scoring.squad_scores import question_scores
from bert_span.squad.example import SquadExample

_QUESTION_WORD = re.compile(
  r"\b(how many|how much|whom?|whose|what|which|when|where|why|how)\b"
)
_SAME_GROUP = {
  "how many": "how many, how much",
  "how much": "how many, how much",
  "whom": "who",
  "whose": "who",
}
_LENGTHS = ("1 word", "2 words", "3-4 words", "5-8 words", "9 words or more")
_NO_GOLD = "no answer"
_MANY_WINDOWS = 5  # One group has as many or more.


@dataclasses.dataclass(frozen=True)
class QuestionResult:
  example: SquadExample
  prediction: str | None  # "" is "no answer"; without one, None, it counts 0
  exact: int  # 1 or 0
  f1: float  # from 0 to 1
  probability: float | None = None  # of the prediction
  span: tuple[int, int] | None = None  # its characters in the passage
  n_best: tuple[Answer, ...] = ()  # best first

  @property
  def has_answer(self):
    return bool(self.example.answers)


def question_results(squad_file, n_best, predictions):
  """Returns a list of `QuestionResult`, in the order of the file.

  `n_best` has the lists of `read_n_best`, `predictions` one text of each list
  by id. Raises ValueError if they are from different runs or questions.
  """
  results = []
  for example in squad_file.examples:
    prediction = predictions.get(example.qas_id)
    entries = n_best.get(example.qas_id, ())
    if prediction is None:
      results.append(QuestionResult(example, None, 0, 0.0, n_best=entries))
      continue
    entry = next((e for e in entries if e.text == prediction), None)
    if entry is None:
      raise ValueError(
        f"question {shortened(example.qas_id)}: its prediction is not in its "
        "n-best list, so it has no probability. Give the predictions.json and "
        "the nbest_predictions.json of the same run."
      )
    scores = question_scores(example, prediction, squad_file.version_2)
    details = (entry.probability, _span_of(entry, example), entries)
    results.append(QuestionResult(example, prediction, *scores, *details))
  return results


def _span_of(entry, example):
  """Returns an entry's offsets, or those of its first occurrence."""
  context, text, start = example.context, entry.text, entry.char_start
  if not text:
    return None
  if start is None:  # run_squad's files have no offsets.
    start = context.find(text)
  elif context[start : entry.char_end] != text:
    raise ValueError(
      f"question {shortened(example.qas_id)}: its passage does not have "
      f"{shortened(text)} at the characters {start} to {entry.char_end} of the "
      "n-best list. Give the SQuAD file that was predicted."
    )
  return None if start < 0 else (start, start + len(text))


class GroupScore(NamedTuple):
  """Scores of a group; `probability` is None without any prediction."""

  name: str
  questions: int
  exact: float  # percent
  f1: float  # mean, percent
  probability: float | None  # mean, percent


def group_scores(results, num_windows=None):
  """Returns a list of `GroupScore` for each table, by its caption."""
  words = [question_word(result.example.question) for result in results]
  by_size = sorted(dict.fromkeys(words), key=lambda word: -words.count(word))
  lengths = [_length_name(result) for result in results]
  tables = {
    "Question word": _grouped(results, words, by_size),
    "Length of the answer": _grouped(results, lengths, [*_LENGTHS, _NO_GOLD]),
  }
  names = ("unanswerable", "answerable")
  is_answerable = [names[result.has_answer] for result in results]
  if len(set(is_answerable)) > 1:
    tables["Answerable or not"] = _grouped(results, is_answerable, names[::-1])
  if num_windows is not None:
    sizes = [_windows_name(number) for number in range(_MANY_WINDOWS + 1)]
    windows = map(_windows_name, num_windows)
    tables["Windows of the passage"] = _grouped(results, windows, sizes)
  return tables


def question_word(question):
  """Returns a question's group: its first English question word or "other"."""
  match = _QUESTION_WORD.search(" ".join(question.lower().split()))
  word = match.group() if match else "other"
  return _SAME_GROUP.get(word, word)


def _grouped(results, names, order):
  """Returns the `GroupScore` of each name that has questions, in order."""
  groups = {name: [] for name in order}
  for result, name in zip(results, names, strict=True):
    groups[name].append(result)
  return [
    GroupScore(
      name,
      len(group),
      _mean_percent(result.exact for result in group),
      _mean_percent(result.f1 for result in group),
      _mean_percent(r.probability for r in group if r.probability is not None),
    )
    for name, group in groups.items()
    if group
  ]


def _mean_percent(values):
  values = list(values)
  return 100.0 * sum(values) / len(values) if values else None


def _length_name(result):
  """Returns the group of a question by the length of its first answer."""
  if not result.has_answer:
    return _NO_GOLD
  words = len(result.example.answers[0].text.split())
  return _LENGTHS[bisect.bisect_left((1, 2, 4, 8), words)]


def _windows_name(number):
  if number >= _MANY_WINDOWS:
    return f"{_MANY_WINDOWS} windows or more"
  return "1 window" if number == 1 else f"{number} windows"


def no_answer_confusion(results):
  """Counts questions by label and by prediction, answer or "no answer".

  Returns a dict: "answerable" and "unanswerable" are pairs of counts, predicted
  with an answer and without; "precision" and "recall" of "no answer" are None
  if undefined.
  """
  pairs = ((result.has_answer, bool(result.prediction)) for result in results)
  counts = collections.Counter(pairs)
  missed, refused = counts[True, False], counts[False, False]
  invented = counts[False, True]
  return {
    "answerable": [counts[True, True], missed],
    "unanswerable": [invented, refused],
    "precision": refused / (refused + missed) if refused + missed else None,
    "recall": refused / (refused + invented) if refused + invented else None,
  }


def worst_errors(results, num_errors):
  """Returns the worst predictions, sorted by probability * (1 - F1)."""
  errors = [r for r in results if not r.exact and r.probability is not None]
  errors.sort(key=lambda result: -result.probability * (1.0 - result.f1))
  return errors[:num_errors]
