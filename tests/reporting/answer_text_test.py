"""Answers as lines of a terminal."""

import types

import pytest

from bert_span.answers.answer import Answer, Prediction
from bert_span.answers.columns import BIO_COLUMNS, SPAN_COLUMNS
from bert_span.answers.decoding.options import DecoderOptions
from bert_span.extractors.span_extractor import PassageAnswer
from bert_span.reporting.answer_text import (
  answer_text,
  ranked_answers,
  ranked_text,
)
from bert_span.search.documents import DocumentPassage

_ANNA = Answer("Anna", 0, 4, 2.0, 0.75, null_odds=-1.0)
_NO_ANSWER = Answer("", 0, 0, 1.0, 0.25, null_odds=1.5)
_TABLE = [
  "    score  probability    characters  text",
  "    2.000       0.7500           0-4  Anna",
  "    1.000       0.2500             -  (no answer)",
]


def _lines(answer, n_best, columns=SPAN_COLUMNS, num_listed=2, **options):
  """The lines of a span head's or a B/I/O head's prediction."""
  extractor = types.SimpleNamespace(
    columns=columns, decoder_options=DecoderOptions(**options)
  )
  prediction = Prediction("1", answer, n_best, (answer,) if answer.text else ())
  text = answer_text(extractor, prediction, "Anna\x1b came.", num_listed)
  return text.splitlines()


def test_an_answer_is_marked_above_its_candidates():
  passage = "[[Anna]]\N{REPLACEMENT CHARACTER} came."
  expected = ["Answer: Anna", "", passage, "", *_TABLE]
  assert _lines(_ANNA, (_ANNA, _NO_ANSWER)) == expected
  assert _lines(_ANNA, (_ANNA, _NO_ANSWER), num_listed=1) == expected[:-1]


@pytest.mark.parametrize(
  ("n_best", "options", "reason"),
  [
    (
      (_NO_ANSWER, _ANNA),
      {"version_2_with_negative": True, "null_score_diff_threshold": 0.5},
      "null odds 1.500 above the threshold 0.500",
    ),
    ((_NO_ANSWER,), {"version_2_with_negative": True}, "no span"),
    ((_NO_ANSWER, _ANNA), {}, "no span"),
    ((), {"columns": BIO_COLUMNS}, "null odds 1.500"),
  ],
)
def test_no_answer_has_its_reason(n_best, options, reason):
  line, *_ = _lines(_NO_ANSWER, n_best, **options)
  assert line.startswith("No answer: ") and reason in line


def test_answers_from_documents_have_the_places_in_their_documents():
  passage = DocumentPassage("notes/a.md", 100, "Anna came.")
  answers = [(passage, PassageAnswer(7, _ANNA, 3.0))]
  assert ranked_answers(answers) == [
    {
      "text": "Anna",
      "document": "notes/a.md",
      "char_start": 100,
      "char_end": 104,
      "margin": 3.0,
      "score": 2.0,
      "probability": 0.75,
    }
  ]
  assert ranked_text(answers, ("<", ">")).splitlines() == [
    *("Answer: Anna", "", "<Anna> came.", ""),
    "   margin  probability  text (place)",
    "    3.000       0.7500  Anna (notes/a.md, characters 100-104)",
  ]
  assert ranked_text([]).startswith("No answer: ")
