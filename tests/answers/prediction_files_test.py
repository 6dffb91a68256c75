"""Decoded answers as files, of both heads, and their readers."""

import contextlib
import json
import os

import numpy as np
import pytest
import tensorflow as tf

from bert_span import DecoderOptions, SpanDecoder, SquadExample
from bert_span.answers import prediction_files as files_lib
from bert_span.answers.answer import Answer, Prediction
from bert_span.answers.columns import BIO_COLUMNS, SPAN_COLUMNS
from bert_span.answers.prediction_files import write_predictions
from bert_span.answers.predictions import predictions_of
from tests.support.squad import OUTSIDE, hand_windows

_OPTIONS = DecoderOptions(n_best_size=2, version_2_with_negative=True)
# "\ud800" is a lone surrogate, as a JSON escape can hold: U+FFFD for ops.
_EXAMPLES = [
  SquadExample("z", "Who?", "Al \ud800b saw."),
  SquadExample("a", "Why?", ""),
]
_SPAN_FILES = ["nbest_predictions.json", "null_odds.json", "predictions.json"]


@pytest.fixture(scope="module")
def predictions():
  """One window [CLS] ? [SEP] al �b saw [SEP] for z; none for a."""
  words = [(0, 2, True), (3, 5, True), (6, 9, True)]
  windows = hand_windows([[OUTSIDE] * 3 + words + [OUTSIDE]])
  start = tf.constant([[1.0, -9, -9, 2, 4, -9, -9]])
  end = tf.constant([[2.0, -9, -9, -9, 5, -9, -9]])
  contexts = tf.constant(["Al \ufffdb saw.", ""])
  outputs = SpanDecoder(_OPTIONS)(contexts, windows, start, end)
  outputs["question_truncated"] = tf.constant([False, False])
  return predictions_of(SPAN_COLUMNS, _EXAMPLES, outputs)


def _read(folder):
  paths = folder.glob("*.json")
  return {path.name: json.loads(path.read_text()) for path in paths}


def test_files_have_the_original_s_format(tmp_path, predictions):
  write_predictions(tmp_path, SPAN_COLUMNS, predictions, True)
  files = _read(tmp_path)
  assert sorted(files) == _SPAN_FILES
  text = (tmp_path / "predictions.json").read_text()
  assert text == '{\n    "z": "\\ud800b",\n    "a": ""\n}\n'
  assert files["null_odds.json"] == {"z": -6.0, "a": 1e6}
  n_best, text = files[_SPAN_FILES[0]], (tmp_path / _SPAN_FILES[0]).read_text()
  assert text == json.dumps(n_best, indent=4) + "\n"
  assert list(n_best) == ["z", "a"]
  best, second, null = n_best["z"]
  total = np.exp([9.0, 7.0, 3.0]).sum()
  probability = pytest.approx(np.exp(9.0) / total)
  assert list(best.items()) == [
    *(("text", "\ud800b"), ("probability", probability)),
    *(("start_logit", 4.0), ("end_logit", 5.0)),
    *(("char_start", 3), ("char_end", 5)),
  ]
  assert list(second.values())[2:] == [2.0, 5.0, 0, 5]
  assert list(null.values())[0::4] == ["", None]
  read_again = files_lib.read_n_best(tmp_path / _SPAN_FILES[0])
  assert read_again["z"][0] == Answer("\ud800b", 3, 5, None, probability)
  assert read_again["a"] == (Answer("", None, None, None, 1.0),)


@pytest.mark.parametrize(
  ("names", "error", "at"),
  [
    *((("fsync",), OSError, at) for at in range(3)),  # a full disk
    *((("remove", "replace"), KeyboardInterrupt, at) for at in range(7)),
  ],
)
def test_a_fault_never_leaves_files_of_two_runs(
  tmp_path, predictions, monkeypatch, names, error, at
):
  write_predictions(tmp_path, SPAN_COLUMNS, predictions, True)
  old, calls = _read(tmp_path), []

  def faulty(call):
    def counted(*arguments):
      calls.append(call)
      # Nor does a killed process clean up.
      if len(calls) > at:
        raise error
      return call(*arguments)

    return counted

  for name in names:
    monkeypatch.setattr(os, name, faulty(getattr(os, name)))
  with pytest.raises(error) if at < 6 else contextlib.nullcontext():
    write_predictions(tmp_path, SPAN_COLUMNS, predictions[:1], True)
  left = _read(tmp_path)
  is_new = [list(content) == ["z"] for content in left.values()]
  assert all(is_new) or not any(is_new)
  if "predictions.json" in left:
    assert sorted(left) == _SPAN_FILES
  if error is OSError:
    assert left == old


def test_files_of_an_earlier_run_do_not_stay(tmp_path, predictions, capsys):
  write_predictions(tmp_path, SPAN_COLUMNS, predictions, True)
  (tmp_path / "notes.json").write_text("{}")
  write_predictions(tmp_path, SPAN_COLUMNS, predictions, False)
  names = ["nbest_predictions.json", "notes.json", "predictions.json"]
  assert sorted(_read(tmp_path)) == names
  assert str(tmp_path / "null_odds.json") in capsys.readouterr().err


def test_files_of_a_bio_head_have_the_best_span_and_all_spans(tmp_path):
  al, best = (
    Answer("Al", 0, 2, 0.5, 0.25, -1.5),
    Answer("\ud800b", 3, 5, 0.75, 0.5, -1.5),
  )
  found = Prediction("z", best, (best, al), (al, best))
  nothing = Prediction("a", Answer("", 0, 0, 0.0, 1.0, 1e6), (), ())
  write_predictions(tmp_path, BIO_COLUMNS, [found, nothing], True)
  names = ("text", "char_start", "char_end", "score", "probability")
  spans = [{name: getattr(span, name) for name in names} for span in (al, best)]
  assert _read(tmp_path) == {
    "predictions.json": {"z": "\ud800b", "a": ""},
    "span_predictions.json": {"z": spans, "a": []},
    "null_odds.json": {"z": -1.5, "a": 1e6},
  }


# Sums of float32 may exceed 1 by a rounding; the original has no offsets.
_PLAIN = {"text": "été", "probability": 1 + 1e-9, "start_logit": 0.5}
_PLACED = {**_PLAIN, "char_start": 3, "char_end": 6}


def _listed(text, start=None, end=None):
  return Answer(text, start, end, None, 1.0)


def _read_value(folder, name, value):
  """What the reader of files of that name makes of a JSON value."""
  path = folder / "file.json"
  path.write_text(value if isinstance(value, str) else json.dumps(value))
  return getattr(files_lib, f"read_{name}")(path)


@pytest.mark.parametrize(
  ("name", "content", "values"),
  [
    ("predictions", {"q2": "été", "q1": ""}, {"q2": "été", "q1": ""}),
    ("na_probs", {"a": 1, "b": -2.5}, {"a": 1, "b": -2.5}),
    (
      *("n_best", {"b": [_PLAIN, _PLACED]}),
      {"b": (_listed("été"), _listed("été", 3, 6))},
    ),
    (
      "span_predictions",
      {"a": ["x", "y"], "b": [{"text": "z", "score": 1}], "c": "w", "d": []},
      {"a": ["x", "y"], "b": ["z"], "c": ["w"], "d": []},
    ),
    ("span_predictions", {"e": "", "f": [""]}, {"e": [], "f": []}),
  ],
)
def test_values_are_read_in_the_order_of_the_file(
  tmp_path, name, content, values
):
  found = _read_value(tmp_path, name, content)
  assert list(found.items()) == list(values.items())


_ENTRY = {"text": "x", "probability": 0.5}
_GOOD = {"predictions": "x", "na_probs": 0, "span_predictions": "x"}
_WRONG = {
  "predictions": [[_ENTRY]],
  "na_probs": [float("nan"), True, "0.5", 10**400],
  "n_best": [
    *("Ada", [], ["x"]),
    *(
      [_ENTRY, {**_ENTRY, "char_start": x, "char_end": 2}] for x in (-1, 1.0, 3)
    ),
    *([{**_ENTRY, "text": None}], [{**_ENTRY, "probability": 1.5}]),
    [_ENTRY, {**_ENTRY, "char_start": 3}],
  ],
  "span_predictions": [3, [{"score": 1}]],
}


@pytest.mark.parametrize(
  ("name", "value"), [(n, value) for n in _WRONG for value in _WRONG[n]]
)
def test_a_wrong_value_is_named_with_file_and_question(tmp_path, name, value):
  content = {"good": _GOOD.get(name, [_ENTRY]), "bad": value}
  with pytest.raises(ValueError, match=r"file\.json: question 'bad'"):
    _read_value(tmp_path, name, content)


def test_of_equal_ids_the_last_counts_and_the_file_is_named(tmp_path, capsys):
  found = _read_value(tmp_path, "predictions", '{"q": "x", "q": "y"}')
  assert found == {"q": "y"}
  assert "file.json" in capsys.readouterr().err
