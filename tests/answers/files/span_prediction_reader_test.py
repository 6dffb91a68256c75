"""Files of any number of predicted spans a question."""

import json

import pytest

from bert_span.answers.files.span_prediction_reader import read_span_predictions


def _write(path, value):
  path.write_text(json.dumps(value))
  return path


def test_texts_objects_and_single_texts_are_read(tmp_path):
  value = {"a": ["x", "y"], "b": [{"text": "z", "score": 1}], "c": "w"}
  value.update({"d": [], "e": "", "f": [""]})
  read = read_span_predictions(_write(tmp_path / "p.json", value))
  assert read == {
    "a": ["x", "y"],
    "b": ["z"],
    "c": ["w"],
    "d": [],
    "e": [],
    "f": [],
  }


@pytest.mark.parametrize(
  ("value", "message"),
  [
    ([], "must be one JSON object"),
    ({"q7": 3}, "question q7: must have a text or a list"),
    ({"q7": [{"score": 1}]}, "question q7: must have"),
  ],
)
def test_other_values_are_one_clear_error(tmp_path, value, message):
  with pytest.raises(ValueError, match=message) as error:
    read_span_predictions(_write(tmp_path / "p.json", value))
  assert "p.json" in str(error.value)
  (tmp_path / "p.json").write_bytes(b"{")
  with pytest.raises(ValueError, match=r"p\.json: not JSON"):
    read_span_predictions(tmp_path / "p.json")
