"""Damaged files: a result, or an error that says what to do."""

import json

import pytest
from fuzz import result_or_clear_error
from squad_content import spans, squad_content

from bert_span.answers.prediction_files import read_predictions
from bert_span.jobs.evaluation import score_files
from bert_span.squad.reader import read_squad

_QUESTIONS = (
  {"id": "q1", "question": "who", "answers": spans(("Ada", 0))},
  {"id": "q2", "question": "when", "answers": [], "is_impossible": True},
)
_SQUAD = squad_content("Ada came.", *_QUESTIONS, version="v2.0")


@pytest.mark.parametrize("brackets", ["[]", "{}"])
def test_nesting_at_the_limit_of_recursion_is_no_crash(tmp_path, brackets):
  opening = brackets[0] if brackets == "[]" else '{"a":'
  squad = json.dumps({**_SQUAD, "version": "VERSION"})
  path = tmp_path / "deep"
  for depth in (*range(940, 1000, 2), 5_000):
    nested = opening * depth + "1" + brackets[1] * depth
    path.write_text(f'{{"q": {nested}}}')
    result_or_clear_error(read_predictions, path)
    path.write_text(squad.replace('"VERSION"', nested))
    result_or_clear_error(read_squad, path)


# Other mistakes: squad/reader_test.py, answers/prediction_files_test.py.
_DAMAGE = {
  "cut": json.dumps(_SQUAD).encode()[:-40],
  "utf-16": json.dumps(_SQUAD).encode("utf-16"),
  "one byte": json.dumps(_SQUAD).encode().replace(b"who", b"w\xffo"),
  "deep": b'{"data": ' + b"[" * 100_000,
  "line break": json.dumps(_SQUAD).replace('"q2"', '"q\\n2"').encode(),
}


@pytest.mark.parametrize("damage", _DAMAGE)
def test_a_damaged_squad_file_is_refused_by_name(tmp_path, damage):
  squad, predictions = tmp_path / "squad.json", tmp_path / "predictions.json"
  squad.write_bytes(_DAMAGE[damage])
  # Without a prediction of q2, which 2.0's metrics refuse.
  predictions.write_text('{"q1": "Ada"}')
  assert result_or_clear_error(score_files, squad, predictions) is None
