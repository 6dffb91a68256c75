"""The flat rows of run_qa.py."""

import json

import pytest

from bert_span.squad.example import AnswerSpan
from bert_span.squad.reader import read_squad

_ROW = {
  "id": "a",
  "title": "T",
  "context": "Anna built it.",
  "question": "Who built it?",
  "answers": {"text": ["Anna"], "answer_start": [0]},
}


def _read(tmp_path, *rows):
  path = tmp_path / "train.json"
  path.write_text(json.dumps({"version": "0.1.0", "data": rows}))
  return read_squad(path)


def test_rows_are_questions_with_their_answers(tmp_path):
  none = {**_ROW, "id": "b", "answers": {"text": [], "answer_start": []}}
  first, second = _read(tmp_path, _ROW, none).examples
  assert (first.qas_id, first.title) == ("a", "T")
  assert first.question == "Who built it?"
  assert first.answers == (AnswerSpan("Anna", 0),)
  assert second.is_impossible and not second.answers


def test_rows_without_answers_have_no_labels(tmp_path):
  row = {key: value for key, value in _ROW.items() if key != "answers"}
  first, second = _read(tmp_path, row, {**_ROW, "id": "b"}).examples
  assert (first.context, first.answers) == (_ROW["context"], ())
  assert not first.is_impossible
  assert second.answers == (AnswerSpan("Anna", 0),)


@pytest.mark.parametrize(
  "answers",
  [
    *(None, [], {"text": ["Anna"]}, {"text": "Anna", "answer_start": [0]}),
    {"text": ["Anna"], "answer_start": [0, 5]},
    {"text": [1], "answer_start": [0]},
  ],
)
def test_a_row_that_is_none_is_named(tmp_path, answers):
  wrong = {**_ROW, "id": "b", "answers": answers}
  with pytest.raises(ValueError, match=r"(?s)train\.json.*(row 1|'b')"):
    _read(tmp_path, _ROW, wrong)
