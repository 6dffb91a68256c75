"""Rows of answers as JSON lines and as Parquet."""

import json

import pytest

from bert_span.answers.decoding.predictions import (
  Answer,
  NBestEntry,
  Prediction,
)
from bert_span.beam.answer_rows import write_rows
from bert_span.extractors.columns import SPAN_COLUMNS
from bert_span.squad.example import SquadExample

# "\ud800" is a lone surrogate, as a JSON escape can hold: U+FFFD for ops.
_ANSWER = Answer("\ufffdb", 3, 5, 9.0, 0.75)
_FOUND = Prediction(
  "z",
  *_ANSWER,
  null_odds=-6.0,
  n_best=(NBestEntry("\ufffdb", 3, 5, 4.0, 5.0, 9.0, 0.75),),
  spans=(_ANSWER,),
)
_NOTHING = Prediction(
  *("a", "", 0, 0, 0.0, 1.0, 1e6),
  n_best=(NBestEntry("", 0, 0, 0.0, 0.0, 0.0, 1.0),),
  spans=(),
)


def test_rows_are_lines_or_columns_whatever_they_hold(tmp_path):
  row = SPAN_COLUMNS.answer_row(SquadExample("z", "", "Al \ud800b."), _FOUND)
  assert row == {
    "id": "z",
    "answer": "\ud800b",
    "char_start": 3,
    "char_end": 5,
    "score": 9.0,
    "probability": 0.75,
    "null_odds": -6.0,
  }
  path = tmp_path / "a.jsonl"
  write_rows(path, [row, row], "jsonl")
  assert [json.loads(line) for line in path.open()] == [row, row]
  nothing = SPAN_COLUMNS.answer_row(SquadExample("a", "", ""), _NOTHING, 2)
  assert list(nothing.values())[1:4] == ["", None, None]
  (entry,) = nothing["n_best"]
  assert (entry["text"], entry["char_start"]) == ("", None)
  parquet = pytest.importorskip("pyarrow.parquet")
  full, empty = tmp_path / "full.parquet", tmp_path / "empty.parquet"
  write_rows(full, [row, nothing], "parquet")
  write_rows(empty, [], "parquet")
  assert parquet.read_schema(full).equals(parquet.read_schema(empty))
  assert parquet.read_table(full).to_pylist() == [
    {**row, "answer": "\ufffdb", "n_best": None, "spans": None},
    {**nothing, "spans": None},
  ]
  assert parquet.read_table(empty).num_rows == 0
