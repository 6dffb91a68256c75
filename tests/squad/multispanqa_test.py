"""MultiSpanQA files in SQuAD's form."""

import json

import pytest

from bert_span.squad.example import AnswerSpan
from bert_span.squad.multispanqa import label_spans
from bert_span.squad.reader import read_squad
from bert_span.squad.rules import training_examples
from bert_span.storage.files import read_json

_TOKENS = ["Ada", "Lovelace", "met", "Babbage", "."]
_LABELS = ["B", "I", "O", "B", "O"]


def _record(**replaced):
  record = {"id": "q1", "question": ["who", "met", "?"], "num_span": 2}
  record |= {"context": _TOKENS, "label": _LABELS, **replaced}
  return {key: value for key, value in record.items() if value is not None}


def _read(tmp_path, *records):
  path = tmp_path / "multi.json"
  path.write_text(json.dumps({"version": "1.0", "data": list(records)}))
  return read_squad(path)


@pytest.mark.parametrize("as_literal", [False, True])
def test_tokens_are_joined_and_offsets_rebuilt(tmp_path, as_literal):
  lists = {"context": _TOKENS, "label": _LABELS}
  if as_literal:
    lists = {key: repr(value) for key, value in lists.items()}
  squad_file = _read(tmp_path, _record(**lists))
  (example,) = squad_file.examples
  spans = (AnswerSpan("Ada Lovelace", 0), AnswerSpan("Babbage", 17))
  assert example.qas_id == "q1"
  assert example.question == "who met ?"
  assert example.context == "Ada Lovelace met Babbage ."
  assert example.annotations == example.annotators == (spans,)
  assert example.answers == spans
  assert not squad_file.report
  assert not squad_file.version_2


def test_labels_all_o_are_an_unanswerable_question(tmp_path):
  squad_file = _read(tmp_path, _record(), _record(id="q2", label=["O"] * 5))
  assert squad_file.version_2
  assert [e.is_impossible for e in squad_file.examples] == [False, True]
  assert squad_file.examples[1].annotators == ((),)
  assert len(training_examples(squad_file, True, every_annotator=True)) == 2
  # A file without labels can be answered.
  (example,) = _read(tmp_path, _record(label=None)).examples
  assert example.answers == example.annotations == ()
  assert not example.is_impossible


def test_an_i_behind_an_o_begins_a_span():
  assert label_spans(["I", "O", "B", "B", "I"]) == [(0, 1), (2, 3), (3, 5)]
  assert label_spans(["O", "I", "I", "O"]) == [(1, 3)]
  assert label_spans([]) == []


def test_what_is_wrong_is_one_clear_error(tmp_path):
  for replaced, message in (
    ({"context": "['cut"}, r"multi\.json: 2 errors:\n.*'context'"),
    # Flat rows have no labels.
    ({"context": "Ada met Babbage ."}, r"multi\.json: 2 errors:\n.*'context'"),
    ({"label": ["B", "I"]}, r"multi\.json.*2 labels for the 5 tokens"),
    ({"label": ["B", "X", "O", "O", "O"]}, r"multi\.json.*'X'"),
    ({"id": None}, r"multi\.json.*'id' is missing"),
  ):
    with pytest.raises(ValueError, match=message):
      _read(tmp_path, _record(**replaced))


def test_real_questions_have_the_spans_they_say(shared_data):
  path = shared_data / "multispanqa_part.json"
  records = read_json(path)["data"]
  for example, record in zip(read_squad(path).examples, records, strict=True):
    (spans,) = example.annotations
    assert len(spans) == record["num_span"]
