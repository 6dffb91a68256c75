"""What becomes of the records of a shard, whatever the model does."""

import pytest
import tensorflow as tf

from bert_span.beam.answering import (
  AnswerSource,
  answer_shard,
  is_saved_model,
)
from bert_span.beam.question_files import LocatedQuestion, RecordLocation
from bert_span.squad.example import SquadExample


def question(number, context="c"):
  example = SquadExample(f"q{number}", "Who?", context)
  return LocatedQuestion(RecordLocation("a.jsonl", number), example)


def outcome(records, poison=(), broken=False):
  """The answered ids, those of dead letters, and all in the order of asking."""
  asked = []

  def answer_rows(examples):
    for example in examples:
      asked.append(example.qas_id)
      if broken or example.qas_id in poison:
        raise ArithmeticError(example.qas_id)
      yield {"id": example.qas_id}

  rows, letters = answer_shard(records, answer_rows)
  return [row["id"] for row in rows], [x.qas_id for x in letters], asked


def test_the_short_are_asked_first_and_answers_keep_the_order_of_records():
  contexts = ("long " * 9, "c", "longer " * 9)
  records = [question(n, context=c) for n, c in enumerate(contexts, 1)]
  assert outcome(records[::-1]) == (
    *(["q1", "q2", "q3"], []),
    ["q2", "q1", "q3"],
  )
  assert outcome([]) == ([], [], [])


def test_a_question_the_model_fails_on_leaves_all_others_answered():
  # 150 questions are three batches; the bad one is in the second.
  records = [question(n) for n in range(150)]
  ids, letters, _ = outcome(records, poison={"q70"})
  assert ids == [f"q{n}" for n in range(150) if n != 70]
  assert letters == ["q70"]
  ids, letters, _ = outcome(records[:2], poison={"q0", "q1"})
  assert (ids, letters) == ([], ["q0", "q1"])


def test_a_model_that_answers_nothing_is_no_question_s_fault():
  with pytest.raises(ArithmeticError, match="probe"):
    outcome([question(1), question(2)], broken=True)


def test_a_saved_model_of_others_is_refused_by_what_it_gives(tmp_path):
  module = tf.Module()
  module.serve = tf.function(
    lambda text: {"sentiment": tf.strings.length(text)},
    input_signature=[tf.TensorSpec([None], tf.string)],
  )
  path = str(tmp_path / "others")
  tf.saved_model.save(module, path, module.serve.get_concrete_function())
  assert is_saved_model(path)
  assert not is_saved_model(str(tmp_path)) and not is_saved_model(
    "minilm_squad"
  )
  with pytest.raises(ValueError, match=r"others .*sentiment"):
    AnswerSource(path).load()
