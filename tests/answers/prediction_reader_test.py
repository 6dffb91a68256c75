"""Reading predictions, n-best lists, sets of spans and no-answer scores."""

import json

import pytest

from bert_span.answers.prediction_files import (
  ListedAnswer,
  read_n_best,
  read_na_probs,
  read_predictions,
  read_span_predictions,
)

_READERS = (
  *(read_predictions, read_na_probs, read_n_best, read_span_predictions),
)


@pytest.fixture
def write(tmp_path):
  """A function that writes bytes or a value as JSON; returns the path."""

  def write_file(value):
    path = tmp_path / "file.json"
    is_content = isinstance(value, bytes)
    path.write_bytes(value if is_content else json.dumps(value).encode())
    return path

  return write_file


def test_predictions_are_read_in_the_order_of_the_file(write):
  read = read_predictions(write({"q2": "\u00e9t\u00e9", "q1": ""}))
  assert list(read.items()) == [("q2", "\u00e9t\u00e9"), ("q1", "")]


def test_a_byte_order_mark_is_accepted(write):
  assert read_predictions(write(b'\xef\xbb\xbf{"q": "x"}')) == {"q": "x"}


def test_whole_and_fractional_no_answer_scores_are_read(write):
  assert read_na_probs(write({"a": 1, "b": -2.5})) == {"a": 1, "b": -2.5}


def test_n_best_lists_may_have_offsets_or_none(write):
  # Sums of float32 may exceed 1 by a rounding; the original has no offsets.
  entry = {"text": "été", "probability": 1 + 1e-9, "start_logit": 0.5}
  placed = {**entry, "char_start": 3, "char_end": 6}
  assert read_n_best(write({"b": [entry, placed]})) == {
    "b": (ListedAnswer("été", 1.0), ListedAnswer("été", 1.0, 3, 6))
  }


def test_spans_are_texts_or_objects_or_one_text(write):
  value = {"a": ["x", "y"], "b": [{"text": "z", "score": 1}], "c": "w"}
  assert read_span_predictions(
    write({**value, "d": [], "e": "", "f": [""]})
  ) == {"a": ["x", "y"], "b": ["z"], "c": ["w"], "d": [], "e": [], "f": []}


_ENTRY = {"text": "x", "probability": 0.5}


@pytest.mark.parametrize(
  ("read", "value", "named"),
  [
    *((read_predictions, value, str(value)) for value in (None, 7)),
    (read_predictions, [_ENTRY], r"predictions\.json"),
    *(
      (read_na_probs, value, "")
      for value in (float("nan"), float("inf"), True, None, "0.5", 10**400)
    ),
    (read_n_best, "Ada", r"nbest_predictions\.json"),
    *((read_n_best, value, "") for value in ([], None, 7, {})),
    *(
      (read_n_best, [_ENTRY, {**_ENTRY, **changed}], "entry 1")
      for changed in (
        {"text": None},
        *({"probability": p} for p in ("0.5", True, 1.5, float("nan"))),
        *({"char_start": start, "char_end": 2} for start in (-1, 1.0, 3)),
        {"char_start": 3},
      )
    ),
    (read_span_predictions, 3, "3"),
    (read_span_predictions, [{"score": 1}], "score"),
  ],
)
def test_a_wrong_value_is_named_with_file_and_question(
  write, read, value, named
):
  good = {read_predictions: "x", read_na_probs: 0, read_n_best: [_ENTRY]}
  path = write({"good": good.get(read, "x"), "bad": value})
  with pytest.raises(ValueError, match=f"(?s)file.json: .*'bad'.*{named}"):
    read(path)


@pytest.mark.parametrize("read", _READERS)
@pytest.mark.parametrize(
  "content", [b'{"q": "x"', b"", b'{"q": "\xe9"}', b'[{"q": "x"}]']
)
def test_a_file_that_is_no_json_object_is_an_error_with_its_name(
  write, read, content
):
  with pytest.raises(ValueError, match=r"file\.json"):
    read(write(content))


def test_a_message_is_one_short_line_whatever_the_ids_and_values(write):
  nested = [["x" * 1000]]
  for qas_id in ("a\nb", "\ud83d", "x" * 1000):
    with pytest.raises(ValueError, match="string") as error:
      read_predictions(write({qas_id: nested}))
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 500


def test_a_repeated_id_keeps_its_last_entry_and_is_logged(write, capsys):
  assert read_predictions(write(b'{"q": "x", "q": "y"}')) == {"q": "y"}
  assert "1 repeated" in capsys.readouterr().err
