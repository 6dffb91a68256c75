"""Each question with its prediction, confidence and score."""

import dataclasses

from bert_span.answers.files.prediction_reader import ListedAnswer
from bert_span.answers.scoring.official_scores import question_scores
from bert_span.squad.example import SquadExample
from bert_span.storage.json_fields import shortened


@dataclasses.dataclass(frozen=True)
class QuestionResult:
  """A question with its prediction and score."""

  example: SquadExample
  prediction: str | None  # "" is no answer; None, no prediction, counts 0
  exact: int  # 1 or 0
  f1: float  # from 0 to 1
  probability: float | None = None  # of the prediction
  span: tuple[int, int] | None = None  # its characters in the passage
  n_best: tuple[ListedAnswer, ...] = ()  # best first

  @property
  def has_answer(self):
    """Whether annotators gave an answer."""
    return bool(self.example.answers)


def question_results(squad_file, n_best, predictions):
  """Joins questions, n-best lists and predictions, and scores each question.

  The mean of the scores is what the official evaluators compute.

  Args:
    squad_file: `SquadFile` with the annotators' answers.
    n_best: the result of `read_n_best`.
    predictions: dict from question id to predicted text, which may be any
      entry of the question's list.

  Returns:
    List of `QuestionResult`, in the order of the file.

  Raises:
    ValueError: a prediction is not in its question's n-best list, or its
      offsets are of another passage.
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
    exact, f1 = question_scores(example, prediction, squad_file.version_2)
    span = _span_of(entry, example)
    results.append(
      QuestionResult(
        example, prediction, exact, f1, entry.probability, span, entries
      )
    )
  return results


def first_texts(n_best):
  """Dict from question id to the text of the first entry of its list."""
  return {qas_id: entries[0].text for qas_id, entries in n_best.items()}


def _span_of(entry, example):
  """Where an entry is: at its offsets, or where its text is first."""
  if not entry.text:
    return None
  context, text = example.context, entry.text
  # run_squad's files have no offsets.
  start = context.find(text) if entry.char_start is None else entry.char_start
  if entry.char_start is not None and context[start : entry.char_end] != text:
    raise ValueError(
      f"question {shortened(example.qas_id)}: its passage does not have "
      f"{shortened(text)} at the characters {start} to {entry.char_end} of the "
      "n-best list. Give the SQuAD file that was predicted."
    )
  return None if start < 0 else (start, start + len(text))
