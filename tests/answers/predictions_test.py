"""Predictions of a decoder's columns, and the answers in them."""

import dataclasses

import numpy as np
import pytest

from bert_span import BioDecoderOptions, DecoderOptions
from bert_span.answers.answer import Answer, Prediction
from bert_span.answers.columns import BIO_COLUMNS
from bert_span.answers.predictions import (
  answer,
  answers,
  as_original_without_span,
  predictions_of,
)
from bert_span.squad.example import SquadExample


def _predict(examples):
  """Predictions whose best answer is the passage, before its question."""
  for example in examples:
    texts = example.context, example.question
    n_best = tuple(Answer(text, 0, len(text), 1.0, 0.5) for text in texts)
    yield Prediction(example.qas_id, n_best[0], n_best, n_best[:1])


def test_one_question_has_one_answer_and_a_list_has_a_list():
  options = DecoderOptions(n_best_size=2)
  assert answer(_predict, options, "Who?", "Ada").text == "Ada"
  found = answer(_predict, options, ["Who?", "Why?"], "Ada", n_best=2)
  assert [[entry.text for entry in entries] for entries in found] == [
    *(["Ada", "Who?"], ["Ada", "Why?"]),
  ]
  assert [span.text for span in answers(_predict, "Who?", "Ada")] == ["Ada"]
  ((span,),) = answers(_predict, ["Who?"], ["Ada"])
  assert span.text == "Ada"


@pytest.mark.parametrize("n_best", [0, 3])
def test_as_many_answers_can_be_had_as_the_decoder_keeps(n_best):
  with pytest.raises(ValueError, match=rf"n_best_size, 2\..*{n_best}"):
    answer(_predict, DecoderOptions(n_best_size=2), "Who?", "Ada", n_best)
  # A B/I/O head has no such number.
  assert len(answer(_predict, BioDecoderOptions(), "Who?", "Ada", 3)) == 2


def test_texts_of_predictions_are_those_of_the_passages():
  """A lone surrogate is U+FFFD in the decoder's UTF-8."""
  columns = {name: np.zeros([1, 2]) for name in BIO_COLUMNS.predicted}
  columns |= {"char_start": [3], "char_end": [5], "span_count": [1]}
  columns |= {name: [0.5] for name in ("score", "probability", "null_odds")}
  columns |= {"question_truncated": [False]}
  columns |= {"span_char_start": [[3, 0]], "span_char_end": [[5, 0]]}
  example = SquadExample("q", "Who?", "Al \ud800b saw.")
  (found,) = predictions_of(BIO_COLUMNS, [example], columns)
  assert found.qas_id == "q"
  assert [found.answer.text, *(s.text for s in found.spans)] == ["\ud800b"] * 2


def test_run_squad_s_answer_to_a_question_without_a_span():
  span = Answer("mill", 4, 8, 3.0, 0.9, -1.0)
  null = Answer("", 0, 0, 0.0, 0.1, -1.0)
  found = Prediction("a", span, (span, null), (span,))
  none = Prediction("b", null, (null,), ())
  empty = dataclasses.replace(null, text="empty")
  empty = Prediction("b", empty, (empty,), ())
  assert as_original_without_span([found, none], False) == [found, empty]
  # Version 2 ends where the original does.
  assert as_original_without_span([found], True) == [found]
  with pytest.raises(ValueError, match=r"1 of 2 questions \(first: b\)"):
    as_original_without_span([found, none], True)
