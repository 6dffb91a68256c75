"""Decoded answers as rows and as files, of both heads."""

import dataclasses
import json
import os

import numpy as np
import pytest
import tensorflow as tf
from hand_windows import OUTSIDE, hand_windows

from bert_span.answers.decoding.options import DecoderOptions
from bert_span.answers.decoding.predictions import (
  Answer,
  NBestEntry,
  Prediction,
  as_original_without_span,
  bio_predictions_of,
  predictions_of,
)
from bert_span.answers.decoding.span_decoder import SpanDecoder
from bert_span.answers.prediction_files import (
  ListedAnswer,
  json_entry,
  read_n_best,
  write_predictions,
)
from bert_span.heads import BIO_HEAD, SPAN_HEAD
from bert_span.squad.example import SquadExample

_OPTIONS = DecoderOptions(n_best_size=2, version_2_with_negative=True)
# "\ud800" is a lone surrogate, as a JSON escape can hold: U+FFFD for ops.
_EXAMPLES = [
  SquadExample("z", "Who?", "Al \ud800b saw."),
  SquadExample("a", "Why?", ""),
]


@pytest.fixture(scope="module")
def predictions():
  """One window [CLS] ? [SEP] al �b saw [SEP] for z; none for a."""
  words = [(0, 2, True), (3, 5, True), (6, 9, True)]
  windows = hand_windows([[OUTSIDE] * 3 + words + [OUTSIDE]])
  start = tf.constant([[1.0, -9, -9, 2, 4, -9, -9]])
  end = tf.constant([[2.0, -9, -9, -9, 5, -9, -9]])
  contexts = tf.constant(["Al \ufffdb saw.", ""])
  outputs = SpanDecoder(_OPTIONS)(contexts, windows, start, end)
  return predictions_of(_EXAMPLES, outputs)


@pytest.fixture(scope="module")
def bio_predictions():
  """Two spans for z, none for a."""
  return bio_predictions_of(
    _EXAMPLES,
    {
      "span_char_start": tf.constant([[0, 3], [0, 0]]),
      "span_char_end": tf.constant([[2, 5], [0, 0]]),
      "span_score": tf.constant([[0.5, 0.75], [0.0, 0.0]], tf.float64),
      "span_probability": tf.constant([[0.25, 0.5], [0.0, 0.0]], tf.float64),
      "span_count": tf.constant([2, 0]),
      "null_odds": tf.constant([-1.5, 1e6], tf.float64),
      "char_start": tf.constant([3, 0]),
      "char_end": tf.constant([5, 0]),
      "score": tf.constant([0.75, 0.0], tf.float64),
      "probability": tf.constant([0.5, 1.0], tf.float64),
    },
  )


def test_predictions_hold_the_context_s_own_characters(predictions):
  found, empty = predictions
  assert (found.qas_id, found.text) == ("z", "\ud800b")
  assert (found.char_start, found.char_end) == (3, 5)
  assert found.null_odds == 3.0 - 9.0
  assert [entry.text for entry in found.n_best] == ["\ud800b", "Al \ud800b", ""]
  assert found.n_best[1].char_start == 0
  assert found.n_best[1].score == 7.0
  assert (empty.text, empty.null_odds, empty.probability) == ("", 1e6, 1.0)
  assert (empty.char_start, empty.char_end) == (0, 0)
  assert len(empty.n_best) == 1


def test_predictions_of_a_bio_head_have_their_spans(bio_predictions):
  first, second = bio_predictions
  al = Answer("Al", 0, 2, 0.5, 0.25)
  other = Answer("\ud800b", 3, 5, 0.75, 0.5)
  assert first.spans == (al, other)
  assert first.n_best == (other, al)
  assert (first.text, first.char_start, first.char_end) == ("\ud800b", 3, 5)
  assert (first.score, first.probability, first.null_odds) == (0.75, 0.5, -1.5)
  assert second.spans == ()
  assert (second.text, second.probability) == ("", 1.0)


def _write(folder, predictions, version_2, head=SPAN_HEAD):
  write_predictions(str(folder), head, predictions, version_2)


def _read(folder):
  return {path.name: json.loads(path.read_text()) for path in folder.iterdir()}


def test_files_have_the_original_s_format(tmp_path, predictions):
  _write(tmp_path, predictions, True)
  names = ["predictions.json", "nbest_predictions.json", "null_odds.json"]
  files = _read(tmp_path)
  assert sorted(files) == sorted(names)
  text = (tmp_path / "predictions.json").read_text()
  assert text == '{\n    "z": "\\ud800b",\n    "a": ""\n}\n'
  assert files["null_odds.json"] == {"z": -6.0, "a": 1e6}
  assert list(files["nbest_predictions.json"]) == ["z", "a"]
  best, second, null = files["nbest_predictions.json"]["z"]
  assert list(best) == [
    *("text", "probability", "start_logit", "end_logit"),
    *("char_start", "char_end"),
  ]
  total = np.exp([9.0, 7.0, 3.0]).sum()
  assert best["probability"] == pytest.approx(np.exp(9.0) / total)
  assert (second["start_logit"], second["end_logit"]) == (2.0, 5.0)
  assert (second["char_start"], second["char_end"]) == (0, 5)
  assert list(null.values())[0::4] == ["", None]
  # Without version 2, other files only.
  _write(tmp_path / "1", predictions, False)
  assert "null_odds.json" not in _read(tmp_path / "1")


@pytest.mark.parametrize("syncs", [0, 1, 2])
def test_a_full_disk_leaves_all_old_files(
  tmp_path, predictions, monkeypatch, syncs
):
  _write(tmp_path, predictions, True)
  old = _read(tmp_path)
  done = []

  def fail(_):
    done.append(1)
    if len(done) > syncs:
      raise OSError("disk full")

  monkeypatch.setattr(os, "fsync", fail)
  with pytest.raises(OSError, match="disk full"):
    _write(tmp_path, predictions[:1], True)
  assert _read(tmp_path) == old


def test_written_n_best_lists_are_read_back(tmp_path, predictions):
  _write(tmp_path, predictions, False)
  assert read_n_best(tmp_path / "nbest_predictions.json") == {
    p.qas_id: tuple(
      ListedAnswer(e.text, e.probability, *(e[1:3] if e.text else ()))
      for e in p.n_best
    )
    for p in predictions
  }


@pytest.mark.parametrize("count", [0, 1, 3])
def test_n_best_lists_are_written_as_json_dumps_does(
  tmp_path, predictions, count
):
  found, empty = predictions
  between = "},\n            {"  # what parts two entries while they are encoded
  odd = found.n_best[0]._replace(text=f'"{between}\u2028[{{ü\x00')
  odd = odd._replace(score=1e-9, start_logit=-0.0)
  predictions = [
    found,
    dataclasses.replace(empty, qas_id='a"\n'),
    dataclasses.replace(found, qas_id="é", n_best=(odd, odd, found.n_best[1])),
  ][:count]
  _write(tmp_path, predictions, False)
  expected = {p.qas_id: [json_entry(e) for e in p.n_best] for p in predictions}
  text = (tmp_path / "nbest_predictions.json").read_text()
  assert text == json.dumps(expected, indent=4) + "\n"


def test_files_of_a_bio_head_hold_the_best_span_and_all_spans(
  tmp_path, bio_predictions
):
  _write(tmp_path, bio_predictions, False, BIO_HEAD)
  names = ["predictions.json", "span_predictions.json"]
  assert sorted(_read(tmp_path)) == names
  _write(tmp_path, bio_predictions, True, BIO_HEAD)
  files = _read(tmp_path)
  assert sorted(files) == sorted([*names, "null_odds.json"])
  assert files["predictions.json"] == {"z": "\ud800b", "a": ""}
  assert files["span_predictions.json"]["a"] == []
  assert files["span_predictions.json"]["z"][0] == {
    "text": "Al",
    "char_start": 0,
    "char_end": 2,
    "score": 0.5,
    "probability": 0.25,
  }
  assert files["null_odds.json"] == {"z": -1.5, "a": 1e6}


def test_run_squad_s_answer_to_a_question_without_a_span():
  span = NBestEntry("mill", 4, 8, 1.0, 2.0, 3.0, 0.9)
  null = NBestEntry("", 0, 0, 0.0, 0.0, 0.0, 0.1)
  found = Prediction("a", "mill", 4, 8, 3.0, 0.9, -1.0, (span, null))
  none = Prediction("b", "", 0, 0, 0.0, 0.1, -1.0, (null,))
  assert as_original_without_span([found, none], False) == [
    found,
    dataclasses.replace(
      none, text="empty", n_best=(null._replace(text="empty"),)
    ),
  ]
  # Version 2 ends where the original does.
  assert as_original_without_span([found], True) == [found]
  with pytest.raises(ValueError, match=r"1 of 2 questions \(first: b\)"):
    as_original_without_span([found, none], True)
