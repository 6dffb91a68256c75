"""Damaged files: a result, or an error that says what to do."""

import json

import pytest
from fuzz import result_or_clear_error

from bert_span.answers.prediction_files import read_predictions
from bert_span.jobs.evaluation import score_files
from bert_span.squad.reader import read_squad

_ANSWER = {"text": "Ada", "answer_start": 0}
_QUESTIONS = [
  {"id": "q1", "question": "who", "answers": [_ANSWER]},
  {"id": "q2", "question": "when", "answers": [], "is_impossible": True},
]
_PARAGRAPHS = [{"context": "Ada came.", "qas": _QUESTIONS}]
_SQUAD = {"version": "v2.0", "data": [{"title": "", "paragraphs": _PARAGRAPHS}]}


@pytest.fixture(scope="module")
def write(tmp_path_factory):
  """A function that writes bytes as a file and returns its path."""
  folder = tmp_path_factory.mktemp("damaged")

  def write_file(name, content):
    (folder / name).write_bytes(content)
    return folder / name

  return write_file


@pytest.mark.parametrize("depth", [*range(940, 1000, 2), 5_000])
@pytest.mark.parametrize("brackets", ["[]", "{}"])
def test_nesting_at_the_limit_of_recursion_is_no_crash(write, depth, brackets):
  opening = brackets[0] if brackets == "[]" else '{"a":'
  nested = opening * depth + "1" + brackets[1] * depth
  result_or_clear_error(
    read_predictions, write("deep", f'{{"q": {nested}}}'.encode())
  )
  squad = json.dumps({**_SQUAD, "version": "VERSION"})
  result_or_clear_error(
    read_squad, write("deep", squad.replace('"VERSION"', nested).encode())
  )


_DAMAGE = {
  "cut": json.dumps(_SQUAD).encode()[:-40],
  "empty": b"",
  "utf-16": json.dumps(_SQUAD).encode("utf-16"),
  "one byte": json.dumps(_SQUAD).encode().replace(b"who", b"w\xffo"),
  "type": json.dumps(_SQUAD).replace('"who"', "[7]").encode(),
  "key": json.dumps(_SQUAD).replace('"question": "who", ', "").encode(),
  "deep": b'{"data": ' + b"[" * 100_000,
  "twice": json.dumps(_SQUAD).replace('"q2"', '"q1"').encode(),
  "line break": json.dumps(_SQUAD).replace('"q2"', '"q\\n2"').encode(),
}


@pytest.mark.parametrize("damage", _DAMAGE)
def test_a_damaged_squad_file_is_refused_by_name(write, damage):
  squad = write("squad.json", _DAMAGE[damage])
  # Without a prediction of q2, which 2.0's metrics refuse.
  predictions = write("predictions.json", b'{"q1": "Ada"}')
  assert result_or_clear_error(score_files, squad, predictions) is None


@pytest.mark.parametrize(
  "content",
  [b'{"q1": 7}', b'{"q1": "A', b"[]", b'{"q1": "\xff"}', b'{"a\\nb": null}'],
)
def test_damaged_predictions_are_refused_by_name(write, content):
  squad = write("squad.json", json.dumps(_SQUAD).encode())
  predictions = write("predictions.json", content)
  assert result_or_clear_error(score_files, squad, predictions) is None
