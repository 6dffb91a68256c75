"""Answers the questions of one shard: each once, whatever some of them do."""

import dataclasses
import logging

from bert_span.beam.question_files import (
  BadRecord,
  PlacedQuestion,
  content_of,
)
from bert_span.data.window_batches import example_batches
from bert_span.squad.example import SquadExample

# What every model that works can answer.
_PROBE = SquadExample("probe", "Who came?", "John Smith came.")


@dataclasses.dataclass(frozen=True)
class AnsweredShard:
  """What became of the records of a shard, all of them.

  Attributes:
    rows: list of answer rows, in the order of the questions' places.
    dead_letters: list of `BadRecord`, likewise.
  """

  rows: list
  dead_letters: list


def answer_shard(records, answer_rows):
  """Answers the questions of a shard.

  Questions are answered in order of length, so that those that share a batch
  need little padding. Of several with one id the first one, by place, is
  answered. A question that the model fails on is a dead letter; the others are
  answered nonetheless.

  Args:
    records: `PlacedQuestion` and `BadRecord`, in any order.
    answer_rows: function of a list of `SquadExample` that yields their rows,
      in order.

  Returns:
    `AnsweredShard`.

  Raises:
    Exception: what answering raises when it is not a question's fault: the
      model does not answer a plain question either.
  """
  records = sorted(records, key=lambda record: record.place)
  bad = [record for record in records if isinstance(record, BadRecord)]
  placed = [r for r in records if isinstance(r, PlacedQuestion)]
  questions, repeated = _first_of_each_id(placed)
  order = sorted(range(len(questions)), key=lambda i: _length(questions[i]))
  examples = [questions[i].example for i in order]
  outcomes = [None] * len(questions)
  for i, outcome in zip(order, _outcomes(examples, answer_rows), strict=True):
    outcomes[i] = outcome
  failed = [
    _failure(question, outcome)
    for question, outcome in zip(questions, outcomes, strict=True)
    if isinstance(outcome, Exception)
  ]
  rows = [row for row in outcomes if not isinstance(row, Exception)]
  dead_letters = sorted([*bad, *repeated, *failed], key=lambda r: r.place)
  if len(rows) + len(dead_letters) != len(records):
    raise RuntimeError(
      f"{len(records)} records became {len(rows)} answers and "
      f"{len(dead_letters)} dead letters: one was lost or doubled."
    )
  return AnsweredShard(rows, dead_letters)


def _first_of_each_id(placed):
  """Questions with an id of their own, and dead letters of the others."""
  first, repeated = {}, []
  for question in placed:
    earlier = first.setdefault(question.example.qas_id, question)
    if earlier is not question:
      place = earlier.place
      repeated.append(
        _dead_letter(
          question,
          f"The id is used before, by record {place.number} of {place.path}, "
          "whose question is answered. Give each question an id of its own.",
        )
      )
  return list(first.values()), repeated


def _outcomes(examples, answer_rows):
  """Yields a row or an exception for each example, in order."""
  position = 0
  while position < len(examples):
    try:
      for row in answer_rows(examples[position:]):
        yield row
        position += 1
    except Exception:
      logging.exception("Answering failed; its questions are asked one by one.")
      # The batch that failed: batches are cut from the beginning, and those
      # before it were answered.
      batch = example_batches(examples[position:])[0]
      yield from _one_by_one(batch, answer_rows)
      position += len(batch)


def _one_by_one(examples, answer_rows):
  """As `_outcomes`, each example by itself."""
  for example in examples:
    try:
      (row,) = answer_rows([example])
      yield row
    except Exception as error:
      list(answer_rows([_PROBE]))  # raises where the model is what fails
      yield error


def _failure(question, error):
  return _dead_letter(
    question, f"Answering failed: {type(error).__name__}: {error}"
  )


def _dead_letter(question, reason):
  example = question.example
  record = {
    "id": example.qas_id,
    "question": example.question,
    "context": example.context,
  }
  return BadRecord(question.place, reason, content_of(record), example.qas_id)


def _length(question):
  """Characters of question and passage: WordPieces are not known yet."""
  example = question.example
  return len(example.question) + len(example.context)
