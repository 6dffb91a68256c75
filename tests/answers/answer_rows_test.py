"""Rows of answers, and the files they are written to."""

import json

import pytest

from bert_span.answers.decoding.predictions import NBestEntry, Prediction
from bert_span.answers.prediction_files import answer_row, write_rows
from bert_span.heads.span import SPAN_HEAD
from bert_span.squad.example import SquadExample

_EXAMPLE = SquadExample("q", "Who?", "Anna came.")
_ENTRIES = (
  NBestEntry("Anna", 0, 4, 2.0, 1.0, 3.0, 0.75),
  NBestEntry("", 0, 0, 0.5, 0.5, 1.0, 0.25),
)
_ANSWER = Prediction("q", "Anna", 0, 4, 3.0, 0.75, -2.0, _ENTRIES)
_NOTHING = Prediction("q", "", 0, 0, 1.0, 0.5, 2.0, _ENTRIES)
_ROW = {
  "id": "q",
  "answer": "Anna",
  "char_start": 0,
  "char_end": 4,
  "score": 3.0,
  "probability": 0.75,
  "null_odds": -2.0,
}


def test_a_row_has_the_answer_and_its_offsets():
  assert answer_row(_EXAMPLE, _ANSWER, SPAN_HEAD) == _ROW


def test_no_answer_has_no_offsets():
  row = answer_row(_EXAMPLE, _NOTHING, SPAN_HEAD)
  assert (row["answer"], row["char_start"], row["char_end"]) == ("", None, None)


def test_several_answers_are_listed_best_first():
  row = answer_row(_EXAMPLE, _ANSWER, SPAN_HEAD, n_best=5)
  assert [entry["text"] for entry in row["n_best"]] == ["Anna", ""]
  assert row["n_best"][1]["char_start"] is None
  only_two = answer_row(_EXAMPLE, _ANSWER, SPAN_HEAD, n_best=2)
  assert len(only_two["n_best"]) == 2


def test_json_lines_hold_the_rows(tmp_path):
  path = tmp_path / "a.jsonl"
  write_rows(path, [_ROW, _ROW], "jsonl")
  assert [json.loads(line) for line in path.open()] == [_ROW, _ROW]


def test_parquet_has_the_same_columns_whatever_it_holds(tmp_path):
  parquet = pytest.importorskip("pyarrow.parquet")
  full, empty = tmp_path / "full.parquet", tmp_path / "empty.parquet"
  rows = [answer_row(_EXAMPLE, _ANSWER, SPAN_HEAD, 2)]
  write_rows(full, rows, "parquet")
  write_rows(empty, [], "parquet")
  assert parquet.read_schema(full).equals(parquet.read_schema(empty))
  assert parquet.read_table(full).to_pylist() == [{**rows[0], "spans": None}]
  assert parquet.read_table(empty).num_rows == 0
