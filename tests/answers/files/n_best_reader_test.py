"""Reading n-best lists, of this package and of the original."""

import json

import pytest

from bert_span.answers.decoding.predictions import NBestEntry, Prediction
from bert_span.answers.files.n_best_reader import ListedAnswer, read_n_best
from bert_span.answers.files.prediction_files import write_prediction_files


@pytest.fixture
def read(tmp_path):
  """A function that writes a value as JSON and reads it as n-best lists."""

  def read_value(value):
    path = tmp_path / "nbest.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return read_n_best(path)

  return read_value


def test_what_run_squad_writes_is_read(tmp_path):
  span = NBestEntry("Bea", 8, 11, 1.0, 2.0, 3.0, 0.75)
  null = NBestEntry("", 0, 0, 1.0, 1.0, 2.0, 0.25)
  prediction = Prediction("q", "Bea", 8, 11, 3.0, 0.75, -1.0, (span, null))
  write_prediction_files(tmp_path, [prediction], False)
  assert read_n_best(tmp_path / "nbest_predictions.json") == {
    "q": (ListedAnswer("Bea", 0.75, 8, 11), ListedAnswer("", 0.25))
  }


def test_lists_of_the_original_have_no_offsets(read):
  entry = {
    "text": "été",
    "probability": 1,
    "start_logit": 0.5,
    "end_logit": 0.5,
  }
  assert read({"b": [entry], "a": [entry]}) == {
    "b": (ListedAnswer("été", 1.0),),
    "a": (ListedAnswer("été", 1.0),),
  }


def test_a_probability_that_exceeds_1_by_a_rounding_is_1(read):
  assert read({"q": [{"text": "x", "probability": 1 + 1e-9}]})["q"] == (
    ListedAnswer("x", 1.0),
  )


def test_the_file_of_single_predictions_is_told_apart(read):
  with pytest.raises(ValueError, match=r"question q.*predictions\.json"):
    read({"q": "Ada"})


@pytest.mark.parametrize("value", [[], None, 7, {}])
def test_a_question_needs_a_list_of_answers(read, value):
  with pytest.raises(ValueError, match="question q: must have a list"):
    read({"q": value})


@pytest.mark.parametrize(
  ("changed", "message"),
  [
    ({"text": None}, "entry 1: must be an object"),
    ({"probability": "0.5"}, "entry 1: probability must be a number"),
    ({"probability": True}, "entry 1: probability must be a number"),
    ({"probability": 1.5}, "entry 1: probability must be a number"),
    ({"probability": float("nan")}, "entry 1: probability must be a number"),
    ({"char_start": 3}, "entry 1: char_start and char_end must be"),
    ({"char_start": 3, "char_end": 2}, "entry 1: char_start and char_end"),
    ({"char_start": -1, "char_end": 2}, "entry 1: char_start and char_end"),
    ({"char_start": 1.0, "char_end": 2}, "entry 1: char_start and char_end"),
  ],
)
def test_a_wrong_entry_is_named_with_file_question_and_number(
  read, changed, message
):
  entry = {"text": "x", "probability": 0.5}
  with pytest.raises(ValueError, match=message) as caught:
    read({"q": [entry, {**entry, **changed}]})
  assert "nbest.json: question q" in str(caught.value)
