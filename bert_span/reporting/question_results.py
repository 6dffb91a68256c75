"""What became of each question: prediction, confidence and score together."""

import dataclasses

from bert_span.answers.files.prediction_reader import ListedAnswer
from bert_span.answers.scoring.official_scores import question_scores
from bert_span.squad.example import SquadExample
from bert_span.storage.json_fields import shortened


@dataclasses.dataclass(frozen=True)
class QuestionResult:
  """A question with its prediction and what that is worth.

  Attributes:
    example: the question, its passage and the annotators' answers.
    prediction: the predicted text, "" for no answer; None where there is no
      prediction, which counts 0.
    exact: 1 if the prediction is one of the answers, else 0.
    f1: best F1 of the prediction against an answer, from 0 to 1.
    probability: of the prediction, from 0 to 1; None without a prediction.
    span: (char_start, char_end) of the prediction in the passage, half-open in
      characters; None where there is none.
    n_best: tuple of `ListedAnswer`, best first.
  """

  example: SquadExample
  prediction: str | None
  exact: int
  f1: float
  probability: float | None = None
  span: tuple[int, int] | None = None
  n_best: tuple[ListedAnswer, ...] = ()

  @property
  def has_answer(self):
    """Whether annotators gave an answer."""
    return bool(self.example.answers)


def question_results(squad_file, n_best, predictions=None):
  """Joins questions, n-best lists and predictions, and scores each question.

  The mean of the scores is what the official evaluators give.

  Args:
    squad_file: `SquadFile` with the annotators' answers.
    n_best: what `read_n_best` gives.
    predictions: the predicted text by question id, which may be any entry of
      the question's list; None takes the first entry of each, which for
      SQuAD 2.0 is a threshold of 0 on the null odds.

  Returns:
    List of `QuestionResult`, in the order of the file.

  Raises:
    ValueError: a prediction is not in its question's n-best list, or its
      offsets are of another passage.
  """
  if predictions is None:
    predictions = first_texts(n_best)
  return [
    _result(
      example,
      predictions.get(example.qas_id),
      n_best.get(example.qas_id, ()),
      squad_file.version_2,
    )
    for example in squad_file.examples
  ]


def first_texts(n_best):
  """The text of the first entry of every list.

  Args:
    n_best: what `read_n_best` gives.

  Returns:
    A dict from question id to text.
  """
  return {qas_id: entries[0].text for qas_id, entries in n_best.items()}


def _result(example, prediction, n_best, version_2):
  if prediction is None:
    return QuestionResult(example, None, 0, 0.0, n_best=n_best)
  entry = next((e for e in n_best if e.text == prediction), None)
  if entry is None:
    raise ValueError(
      f"question {shortened(example.qas_id)}: its prediction is not in its "
      "n-best list, so it has no probability. Give the predictions.json and "
      "the nbest_predictions.json of one run."
    )
  exact, f1 = question_scores(example, prediction, version_2)
  return QuestionResult(
    example,
    prediction,
    exact,
    f1,
    entry.probability,
    _span_of(entry, example),
    n_best,
  )


def _span_of(entry, example):
  """Where an entry stands, by its offsets or else where its text is first."""
  if not entry.text:
    return None
  context, text = example.context, entry.text
  # As run_squad, whose files tell no offsets.
  start = context.find(text) if entry.char_start is None else entry.char_start
  if entry.char_start is not None and context[start : entry.char_end] != text:
    raise ValueError(
      f"question {shortened(example.qas_id)}: its passage does not have "
      f"{shortened(text)} at the characters {start} to {entry.char_end} of the "
      "n-best list. Give the SQuAD file that was predicted."
    )
  return None if start < 0 else (start, start + len(text))
