"""Reading prediction files and no-answer scores."""

import json

import pytest

from bert_span.answers.files.prediction_reader import (
  read_na_probs,
  read_predictions,
)


@pytest.fixture
def write(tmp_path):
  """A function that writes text or bytes to a file and returns its path."""

  def write_file(content):
    path = tmp_path / "file.json"
    content = content.encode() if isinstance(content, str) else content
    path.write_bytes(content)
    return path

  return write_file


def test_predictions_are_read_in_the_order_of_the_file(write):
  path = write('{"q2": "\u00e9t\u00e9", "q1": ""}')
  assert list(read_predictions(path).items()) == [
    ("q2", "\u00e9t\u00e9"),
    ("q1", ""),
  ]


def test_a_byte_order_mark_is_no_obstacle(write):
  assert read_predictions(write(b'\xef\xbb\xbf{"q": "x"}')) == {"q": "x"}


@pytest.mark.parametrize(
  ("value", "received"), [(None, "None"), (7, "7"), ({"text": "x"}, "text")]
)
def test_a_prediction_of_another_type_is_an_error_with_file_and_id(
  write, value, received
):
  path = write(json.dumps({"good": "x", "bad": value}))
  with pytest.raises(ValueError, match=f"file.json: question bad.*{received}"):
    read_predictions(path)


def test_an_n_best_file_is_recognized(write):
  path = write('{"q": [{"text": "x"}]}')
  with pytest.raises(
    ValueError, match=r"looks like an nbest_predictions\.json"
  ):
    read_predictions(path)


@pytest.mark.parametrize(
  ("content", "fault"),
  [
    ('{"q": "x"', "not JSON, or cut off"),
    ("", "not JSON, or cut off"),
    (b'{"q": "\xe9"}', "not UTF-8 at offset 7 bytes"),
    ('[{"q": "x"}]', "must be one JSON object"),
  ],
)
def test_a_file_that_is_no_json_object_is_an_error_with_its_name(
  write, content, fault
):
  with pytest.raises(ValueError, match=f"file.json: {fault}"):
    read_predictions(write(content))


def test_a_message_is_one_short_line_whatever_the_ids_and_values(write):
  nested = [["x" * 1000]]
  for qas_id in ("a\nb", "\ud83d", "x" * 1000):
    with pytest.raises(ValueError, match=r"must be a string\.") as e:
      read_predictions(write(json.dumps({qas_id: nested})))
    assert str(e.value).isprintable()
    assert len(str(e.value)) < 500


def test_a_repeated_id_keeps_its_last_entry_and_is_reported(write, caplog):
  assert read_predictions(write('{"q": "x", "q": "y"}')) == {"q": "y"}
  assert "1 repeated question ids" in caplog.text


def test_whole_and_fractional_no_answer_scores_are_read(write):
  assert read_na_probs(write('{"a": 1, "b": -2.5}')) == {"a": 1, "b": -2.5}


@pytest.mark.parametrize(
  "value", ["NaN", "Infinity", "true", "null", '"0.5"', "1" + "0" * 400]
)
def test_a_no_answer_score_that_is_no_finite_number_is_an_error(write, value):
  path = write(f'{{"good": 0.5, "bad": {value}}}')
  with pytest.raises(ValueError, match=r"file\.json: question bad"):
    read_na_probs(path)
