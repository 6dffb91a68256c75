"""Answers the questions of one shard, each once, whatever fails."""

import dataclasses
import logging

from bert_span.beam.question_files import (
  BadRecord,
  LocatedQuestion,
  content_of,
)
from bert_span.data.window_batches import example_batches
from bert_span.squad.example import SquadExample

# Every model that works can answer this.
_PROBE = SquadExample("probe", "Who came?", "John Smith came.")


@dataclasses.dataclass(frozen=True)
class AnsweredShard:
  """The outcome of all records of a shard, in the order of their locations."""

  rows: list  # of answers
  dead_letters: list  # of `BadRecord`


def answer_shard(records, answer_rows):
  """Answers the questions of a shard.

  Questions are answered in order of length, so that those of a batch need
  little padding. Of several with one id the first one, by location, is
  answered. A question that the model fails on becomes a dead letter, and the
  others are answered.

  Args:
    records: `LocatedQuestion` and `BadRecord`, in any order.
    answer_rows: see `AnswerSource.load`. An error passes if it fails on a plain
      question as well.
  """
  dead_letters = [r for r in records if isinstance(r, BadRecord)]
  first = {}
  for question in sorted(
    (r for r in records if isinstance(r, LocatedQuestion)),
    key=lambda question: question.location,
  ):
    earlier = first.setdefault(question.example.qas_id, question)
    if earlier is not question:
      at = earlier.location
      reason = (
        f"The id is used before, by record {at.number} of {at.path}, whose "
        "question is answered. Give each question its own id."
      )
      dead_letters.append(_dead_letter(question, reason))
  # WordPieces are not known yet: order by characters.
  questions = sorted(first.values(), key=lambda q: _length(q.example))
  outcomes = _outcomes([q.example for q in questions], answer_rows)
  rows = []
  for question, outcome in zip(questions, outcomes, strict=True):
    if isinstance(outcome, Exception):
      reason = f"Answering failed: {type(outcome).__name__}: {outcome}"
      dead_letters.append(_dead_letter(question, reason))
    else:
      rows.append((question.location, outcome))
  rows.sort(key=lambda row: row[0])
  dead_letters.sort(key=lambda record: record.location)
  return AnsweredShard([row for _, row in rows], dead_letters)


def _outcomes(examples, answer_rows):
  """Yields a row or an exception for each example, in order."""
  position = 0
  while position < len(examples):
    try:
      for row in answer_rows(examples[position:]):
        yield row
        position += 1
    except Exception:
      # Python's log, which Beam collects from the workers.
      logging.exception("Answering failed; its questions are asked one by one.")
      # The batch that failed: batches are cut from the beginning, and those
      # before it were answered.
      batch = example_batches(examples[position:])[0]
      for example in batch:
        yield _outcome(example, answer_rows)
      position += len(batch)


def _outcome(example, answer_rows):
  try:
    (row,) = answer_rows([example])
    return row
  except Exception as error:
    list(answer_rows([_PROBE]))  # raises if the model is what fails
    return error


def _dead_letter(question, reason):
  example = question.example
  record = {
    "id": example.qas_id,
    "question": example.question,
    "context": example.context,
  }
  return BadRecord(
    question.location, reason, content_of(record), example.qas_id
  )


def _length(example):
  return len(example.question) + len(example.context)
