"""The original's answers to questions without a possible span, by hand."""

import dataclasses

import pytest

from bert_span.answers.decoding.predictions import NBestEntry, Prediction
from bert_span.answers.files.original_no_span import as_original_without_span

_SPAN = NBestEntry("mill", 4, 8, 1.0, 2.0, 3.0, 0.9)
_NULL = NBestEntry("", 0, 0, 0.0, 0.0, 0.0, 0.1)


def _prediction(qas_id, *entries):
  first = entries[0]
  return Prediction(
    qas_id,
    first.text,
    first.char_start,
    first.char_end,
    first.score,
    first.probability,
    null_odds=-1.0,
    n_best=entries,
  )


def test_the_word_empty_answers_a_question_without_a_span():
  found, none = _prediction("a", _SPAN), _prediction("b", _NULL)
  assert as_original_without_span([found, none], False) == [
    found,
    dataclasses.replace(
      none, text="empty", n_best=(_NULL._replace(text="empty"),)
    ),
  ]


def test_version_2_ends_with_the_ids_where_the_original_ends():
  predictions = [_prediction("a", _NULL, _SPAN), _prediction("b", _NULL)]
  with pytest.raises(ValueError, match=r"1 of 2 questions \(first: b\)"):
    as_original_without_span(predictions, True)


def test_version_2_stays_as_it_is_where_every_question_has_a_span():
  predictions = [_prediction("a", _NULL, _SPAN)]
  assert as_original_without_span(predictions, True) == predictions
