"""Answers of several spans as rows and files."""

import json
import pathlib

import tensorflow as tf

from bert_span.answers.decoding.bio_predictions import (
  AnswerSpan,
  bio_predictions_of,
)
from bert_span.answers.files.bio_prediction_files import (
  write_bio_prediction_files,
)
from bert_span.squad.example import SquadExample

# "\ud800" is a lone surrogate, as a JSON escape can hold: U+FFFD for ops.
_EXAMPLES = [
  SquadExample("z", "Who?", "Al met \ud800b."),
  SquadExample("a", "Why?", ""),
]
_OUTPUTS = {
  "span_text": tf.constant([["Al", "\ufffdb"], ["", ""]]),
  "span_char_start": tf.constant([[0, 7], [0, 0]]),
  "span_char_end": tf.constant([[2, 9], [0, 0]]),
  "span_score": tf.constant([[0.5, 0.75], [0.0, 0.0]], tf.float64),
  "span_probability": tf.constant([[0.25, 0.5], [0.0, 0.0]], tf.float64),
  "span_count": tf.constant([2, 0]),
  "null_odds": tf.constant([-1.5, 1e6], tf.float64),
  "is_answerable": tf.constant([True, False]),
  "answer": tf.constant(["\ufffdb", ""]),
  "char_start": tf.constant([7, 0]),
  "char_end": tf.constant([9, 0]),
  "score": tf.constant([0.75, 0.0], tf.float64),
  "probability": tf.constant([0.5, 1.0], tf.float64),
}


def test_rows_have_their_spans_and_the_characters_of_the_context():
  first, second = bio_predictions_of(_EXAMPLES, _OUTPUTS)
  al = AnswerSpan("Al", 0, 2, 0.5, 0.25)
  other = AnswerSpan("\ud800b", 7, 9, 0.75, 0.5)
  assert first.spans == (al, other)
  assert first.n_best == (other, al)
  assert (first.text, first.char_start, first.char_end) == ("\ud800b", 7, 9)
  assert (first.score, first.probability, first.null_odds) == (0.75, 0.5, -1.5)
  assert second.spans == ()
  assert (second.text, second.probability) == ("", 1.0)


def test_files_hold_the_best_span_and_all_spans(tmp_path):
  predictions = bio_predictions_of(_EXAMPLES, _OUTPUTS)
  paths = write_bio_prediction_files(str(tmp_path), predictions, True)
  values = [json.loads(pathlib.Path(path).read_text()) for path in paths]
  assert values[0] == {"z": "\ud800b", "a": ""}
  assert values[1]["a"] == []
  assert values[1]["z"][0] == {
    "text": "Al",
    "char_start": 0,
    "char_end": 2,
    "score": 0.5,
    "probability": 0.25,
  }
  assert values[2] == {"z": -1.5, "a": 1e6}
  paths = write_bio_prediction_files(str(tmp_path), predictions, False)
  assert [path.rsplit("/", 1)[1] for path in paths] == [
    "predictions.json",
    "span_predictions.json",
  ]
