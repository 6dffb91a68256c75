"""Which question goes to which shard, and which shards are done."""

import hashlib
import json

import pytest

from bert_span.answers.answer import Answer, Prediction
from bert_span.answers.columns import SPAN_COLUMNS
from bert_span.beam.question_files import (
  BadRecord,
  LocatedQuestion,
  RecordLocation,
)
from bert_span.beam.shards import (
  AnswerShards,
  folder_sha256,
  start_or_continue,
)
from bert_span.squad.example import SquadExample

_LOCATION = RecordLocation("a.jsonl", 3)


def test_the_id_decides_the_shard_or_else_the_location():
  shards = AnswerShards("out", 1000)
  # SHA-256 of the id, its first 8 bytes: the same in every process.
  shard = int(hashlib.sha256(b"q0").hexdigest()[:16], 16) % 1000
  example = SquadExample("q0", "Who?", "Anna.")
  for record in (
    LocatedQuestion(_LOCATION, example),
    LocatedQuestion(RecordLocation("b", 9), example),
    BadRecord(_LOCATION, "No context.", qas_id="q0"),
  ):
    assert shards.shard_of(record) == shard
  # Without an id the location decides.
  bad = [BadRecord(RecordLocation("a", n), "Bad.") for n in range(800)]
  shards = [AnswerShards("out", 8).shard_of(record) for record in bad]
  assert all(60 < shards.count(shard) < 140 for shard in range(8))


def test_a_shard_is_done_once_its_answers_exist(tmp_path):
  shards = AnswerShards(str(tmp_path), 4)
  # Unfinished files and those of other runs do not count.
  for name in (
    "answers-00001-of-00004.jsonl.0123abcd.tmp",
    "answers-00001-of-00005.jsonl",
    "answers-00001-of-00004.parquet",
    "dead_letters-00001-of-00004.jsonl",
  ):
    (tmp_path / name).touch()
  assert shards.done() == frozenset()
  assert AnswerShards(str(tmp_path), 4, "parquet").done() == {1}
  shards.write(2, [{"id": "q"}], [BadRecord(_LOCATION, "No JSON.", "{")])
  assert shards.done() == {2}
  answers = tmp_path / "answers-00002-of-00004.jsonl"
  assert answers.read_text() == '{"id": "q"}\n'
  letters = tmp_path / "dead_letters-00002-of-00004.jsonl"
  row = {"file": "a.jsonl", "record": 3, "id": None, "reason": "No JSON."}
  assert json.loads(letters.read_text()) == {**row, "content": "{"}
  # The dead letters of an earlier attempt are removed.
  shards.write(2, [], [])
  assert not letters.exists()


# "\ud800" is a lone surrogate, as a JSON escape can hold.
_ANSWER = Answer("\ud800b", 3, 5, 9.0, 0.75, -6.0)
_FOUND = Prediction("z", _ANSWER, (_ANSWER,), (_ANSWER,))
_NO_ANSWER = Answer("", 0, 0, 0.0, 1.0, 1e6)
_NOTHING = Prediction("a", _NO_ANSWER, (_NO_ANSWER,), ())


def test_rows_are_lines_or_columns_whatever_they_hold(tmp_path):
  row = SPAN_COLUMNS.answer_row(_FOUND)
  place = {"char_start": 3, "char_end": 5, "score": 9.0, "probability": 0.75}
  place |= {"null_odds": -6.0, "question_truncated": False}
  assert row == {"id": "z", "answer": "\ud800b", **place}
  nothing = SPAN_COLUMNS.answer_row(_NOTHING, 2)
  assert list(nothing.values())[1:4] == ["", None, None]
  (entry,) = nothing["n_best"]
  assert (entry["text"], entry["char_start"]) == ("", None)
  AnswerShards(tmp_path, 1).write(0, [row, nothing], [])
  lines = (tmp_path / "answers-00000-of-00001.jsonl").open()
  assert [json.loads(line) for line in lines] == [row, nothing]
  parquet = pytest.importorskip("pyarrow.parquet")
  shards = AnswerShards(tmp_path, 2, "parquet")
  shards.write(0, [row, nothing], [])
  shards.write(1, [], [])
  full, empty = map(parquet.read_table, sorted(tmp_path.glob("*.parquet")))
  assert full.schema.equals(empty.schema)
  assert full.to_pylist() == [
    {**row, "answer": "\ufffdb", "n_best": None, "spans": None},
    {**nothing, "spans": None},
  ]
  assert empty.num_rows == 0


def test_a_run_goes_on_with_the_options_of_its_start_only(tmp_path):
  out = str(tmp_path / "out")
  for _ in range(2):
    start_or_continue(out, {"num_shards": 4, "copies": (1, 2)})
  with pytest.raises(ValueError, match=r"num_shards.*4.*5"):
    start_or_continue(out, {"num_shards": 5, "copies": (1, 2)})
  (tmp_path / "out" / "job.json").write_text('{"num_shards": 4, "copies": [1]}')
  with pytest.raises(ValueError, match=r"job\.json.*format"):
    start_or_continue(out, {"num_shards": 4, "copies": (1,)})
  (tmp_path / "out" / "job.json").write_text("{")
  with pytest.raises(ValueError, match=r"job\.json: .* output_dir"):
    start_or_continue(out, {"num_shards": 4, "copies": (1, 2)})


def test_the_hash_of_a_folder_covers_names_and_contents(tmp_path):
  files, hashes = [("a", "1"), ("a", "1"), ("b", "1"), ("b", "2")], []
  for i, (name, content) in enumerate(files):
    folder = tmp_path / str(i)
    folder.mkdir()
    (folder / name).write_text(content)
    hashes.append(folder_sha256(str(folder)))
  assert hashes[0] == hashes[1]
  assert len(set(hashes)) == 3


def test_done_shards_are_those_of_the_folder_whatever_its_name(tmp_path):
  for name in ("out?", "out[1]", "outs"):
    shards = AnswerShards(str(tmp_path / name), 4)
    assert shards.done() == set()
    shards.write(len(name) % 4, [], [])
    (tmp_path / name / "answers-old").write_text("")
    (tmp_path / name / "answers-00003-of-00009.jsonl").write_text("")
    assert shards.done() == {len(name) % 4}
