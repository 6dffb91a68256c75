import dataclasses
import json

import numpy as np
import pytest
import tensorflow as tf

from bert_span.answers.decoding.options import DecoderOptions
from bert_span.answers.decoding.predictions import predictions_of
from bert_span.answers.decoding.span_decoder import SpanDecoder
from bert_span.answers.files.prediction_files import (
  json_entry,
  write_prediction_files,
)
from bert_span.squad.example import SquadExample

_OPTIONS = DecoderOptions(n_best_size=2, version_2_with_negative=True)


def _examples():
  # "\ud800" is a lone surrogate, as a JSON escape can hold: U+FFFD for ops.
  return [
    SquadExample("z", "Who?", "Al \ud800b saw."),
    SquadExample("a", "Why?", ""),
  ]


def _predictions():
  """One window [CLS] ? [SEP] al �b saw [SEP] for z; none for a."""
  windows = {
    "example_index": tf.constant([0]),
    "input_mask": tf.ones([1, 7], tf.int32),
    "token_char_starts": tf.constant([[-1, -1, -1, 0, 3, 6, -1]]),
    "token_char_ends": tf.constant([[-1, -1, -1, 2, 5, 9, -1]]),
    "is_max_context": tf.constant([[False] * 3 + [True] * 3 + [False]]),
  }
  start = tf.constant([[1.0, -9, -9, 2, 4, -9, -9]])
  end = tf.constant([[2.0, -9, -9, -9, 5, -9, -9]])
  contexts = tf.constant(["Al \ufffdb saw.", ""])
  outputs = SpanDecoder(_OPTIONS)(contexts, windows, start, end)
  return predictions_of(_examples(), outputs)


def test_predictions_hold_the_context_s_own_characters():
  found, empty = _predictions()
  assert (found.qas_id, found.text) == ("z", "\ud800b")
  assert (found.char_start, found.char_end) == (3, 5)
  assert found.null_odds == 3.0 - 9.0
  assert [entry.text for entry in found.n_best] == ["\ud800b", "Al \ud800b", ""]
  assert found.n_best[1].char_start == 0
  assert found.n_best[1].score == 7.0
  assert (empty.text, empty.null_odds, empty.probability) == ("", 1e6, 1.0)
  assert (empty.char_start, empty.char_end) == (0, 0)
  assert len(empty.n_best) == 1


def test_files_have_the_original_s_form(tmp_path):
  paths = write_prediction_files(tmp_path, _predictions(), True)
  names = ["predictions.json", "nbest_predictions.json", "null_odds.json"]
  assert paths == [str(tmp_path / name) for name in names]
  assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
  text = (tmp_path / "predictions.json").read_text()
  assert text == '{\n    "z": "\\ud800b",\n    "a": ""\n}\n'
  n_best = json.loads((tmp_path / "nbest_predictions.json").read_text())
  assert list(n_best) == ["z", "a"]
  best, second, null = n_best["z"]
  total = np.exp([9.0, 7.0, 3.0]).sum()
  assert list(best) == [
    "text",
    "probability",
    "start_logit",
    "end_logit",
    "char_start",
    "char_end",
  ]
  assert best["probability"] == pytest.approx(np.exp(9.0) / total)
  assert (second["start_logit"], second["end_logit"]) == (2.0, 5.0)
  assert (second["char_start"], second["char_end"]) == (0, 5)
  assert (null["text"], null["char_start"], null["char_end"]) == (
    "",
    None,
    None,
  )
  null_odds = json.loads((tmp_path / "null_odds.json").read_text())
  assert null_odds == {"z": -6.0, "a": 1e6}


@pytest.mark.parametrize("count", [0, 1, 3])
def test_n_best_lists_are_written_as_json_dumps_does(tmp_path, count):
  found, empty = _predictions()
  between = "},\n            {"  # what parts two entries while they are encoded
  odd = found.n_best[0]._replace(text=f'"{between}\u2028[{{ü\x00')
  odd = odd._replace(score=1e-9, start_logit=-0.0)
  predictions = [
    found,
    dataclasses.replace(empty, qas_id='a"\n'),
    dataclasses.replace(found, qas_id="é", n_best=(odd, odd, found.n_best[1])),
  ][:count]
  write_prediction_files(tmp_path, predictions, False)
  expected = {p.qas_id: [json_entry(e) for e in p.n_best] for p in predictions}
  text = (tmp_path / "nbest_predictions.json").read_text()
  assert text == json.dumps(expected, indent=4) + "\n"


def test_null_odds_are_written_for_version_2_only(tmp_path):
  write_prediction_files(tmp_path, _predictions(), False)
  assert not (tmp_path / "null_odds.json").exists()


def test_two_questions_of_one_id_are_an_error_and_leave_no_file(tmp_path):
  first, second = _predictions()
  second = dataclasses.replace(second, qas_id="z")
  with pytest.raises(ValueError, match="question z: two questions"):
    write_prediction_files(tmp_path, [first, second], False)
  assert list(tmp_path.iterdir()) == []


def test_examples_of_another_batch_are_an_error():
  with pytest.raises(ValueError, match="1 examples, but answers for 2"):
    predictions_of(_examples()[:1], {"char_start": np.zeros(2, np.int32)})
