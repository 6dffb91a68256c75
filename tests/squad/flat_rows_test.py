"""The flat rows of run_qa.py, and of Parquet files."""

import json

import pyarrow
import pytest
from pyarrow import parquet

from bert_span.reporting.linter import lint_squad_file, repair_squad_file
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


_NONE = {**_ROW, "id": "b", "answers": {"text": [], "answer_start": []}}


def _write_parquet(tmp_path, rows, **options):
  path = tmp_path / "train.parquet"
  parquet.write_table(pyarrow.Table.from_pylist(rows), path, **options)
  return path


def _refusal(path):
  with pytest.raises(ValueError) as caught:
    read_squad(path)
  message = str(caught.value)
  assert message.startswith(f"{path}: ") and "\n" not in message
  return message


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_parquet_has_the_questions_of_the_rows_as_json(tmp_path, prefix):
  rows = [_ROW, _NONE, {**_ROW, "id": "c", "context": "Zoë, " * 9 + "Anna."}]
  expected = _read(tmp_path, *rows)
  path = f"{prefix}{_write_parquet(tmp_path, rows, row_group_size=2)}"
  read = read_squad(path)
  assert (read.examples, read.version_2) == (expected.examples, True)
  assert lint_squad_file(path).examples == expected.examples


def test_a_null_of_parquet_is_a_key_that_the_row_lacks(tmp_path):
  unlabelled = {**_ROW, "id": "b", "answers": None}
  read = read_squad(_write_parquet(tmp_path, [_ROW, unlabelled]))
  assert [len(example.answers) for example in read.examples] == [1, 0]
  assert not read.version_2
  path = _write_parquet(tmp_path, [_ROW, {**_ROW, "question": None}])
  assert "'question' is missing" in _refusal(path)


def test_parquet_may_have_the_articles_of_squad(tmp_path):
  answers = [{"text": "Anna", "answer_start": 0}]
  questions = [
    {"id": "a", "question": "Who?", "answers": answers, "is_impossible": None},
    {"id": "b", "question": "Why?", "answers": [], "is_impossible": None},
  ]
  paragraph = {"context": _ROW["context"], "qas": questions}
  rows = [{"title": "T", "paragraphs": [paragraph]}]
  read = read_squad(_write_parquet(tmp_path, rows))
  assert [e.qas_id for e in read.examples] == ["a", "b"]
  assert read.examples[0].answers == (AnswerSpan("Anna", 0),)
  assert not read.version_2


def test_parquet_of_something_else_or_damaged_is_named(tmp_path):
  path = _write_parquet(tmp_path, [{"id": "a", "text": "Anna"}])
  assert "id, text" in _refusal(path)
  wrong = {**_ROW, "answers": {"text": ["Anna"], "answer_start": ["0"]}}
  path = _write_parquet(tmp_path, [wrong])
  assert "'answer_start'" in _refusal(path) and "'a'" in _refusal(path)
  path = _write_parquet(tmp_path, [_ROW] * 9, compression="none")
  content = bytearray(path.read_bytes())
  path.write_bytes(content[:200])
  assert "damaged" in _refusal(path)
  content[60:100] = bytes(40)
  path.write_bytes(content)
  assert "damaged" in _refusal(path)


def test_parquet_is_not_repaired(tmp_path):
  linted = lint_squad_file(_write_parquet(tmp_path, [_ROW]))
  with pytest.raises(ValueError, match="Parquet"):
    repair_squad_file(linted, tmp_path / "fixed", tmp_path / "log")
