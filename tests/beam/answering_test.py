"""What becomes of the records of a shard, whatever the model does."""

import pytest

from bert_span.beam.answering import answer_shard
from bert_span.beam.question_files import LocatedQuestion, RecordLocation
from bert_span.squad.example import SquadExample


def question(number, qas_id=None, context="c"):
  example = SquadExample(qas_id or f"q{number}", "Who?", context)
  return LocatedQuestion(RecordLocation("a.jsonl", number), example)


def ids_in_order(calls=None, poison=(), broken=False):
  """A model that gives ids as rows, and fails where it is told to."""

  def answer_rows(examples):
    if calls is not None:
      calls.append([example.qas_id for example in examples])
    for example in examples:
      if broken or example.qas_id in poison:
        raise ArithmeticError(example.qas_id)
      yield {"id": example.qas_id}

  return answer_rows


def outcome(records, answer_rows=None):
  """The ids that are answered, and the dead letters."""
  rows, letters = answer_shard(records, answer_rows or ids_in_order())
  return [row["id"] for row in rows], letters


def test_answers_are_in_the_order_of_the_records():
  assert outcome([question(n) for n in (3, 1, 2)]) == (["q1", "q2", "q3"], [])
  assert outcome([]) == ([], [])


def test_questions_are_asked_in_order_of_length():
  calls = []
  contexts = ("long " * 9, "c", "longer " * 9)
  records = [question(n, context=c) for n, c in enumerate(contexts, 1)]
  answer_shard(records, ids_in_order(calls))
  assert calls == [["q2", "q1", "q3"]]


def test_a_question_the_model_fails_on_leaves_all_others_answered():
  # 150 questions are three batches; the bad one is in the second.
  records = [question(n) for n in range(150)]
  ids, (letter,) = outcome(records, ids_in_order(poison={"q70"}))
  assert ids == [f"q{n}" for n in range(150) if n != 70]
  assert letter.qas_id == "q70"
  assert letter.reason == "Answering failed: ArithmeticError: q70"
  ids, letters = outcome(records[:2], ids_in_order(poison={"q0", "q1"}))
  assert (ids, [letter.qas_id for letter in letters]) == ([], ["q0", "q1"])


def test_a_model_that_answers_nothing_is_no_question_s_fault():
  with pytest.raises(ArithmeticError, match="probe"):
    answer_shard([question(1), question(2)], ids_in_order(broken=True))
