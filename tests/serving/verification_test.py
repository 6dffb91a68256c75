"""A fresh process answers as the extractor, or nothing is published."""

import dataclasses
import functools
import math

import pytest

from bert_span.extractors.bio_extractor import BioExtractor
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.serving import verification
from bert_span.squad.example import SquadExample
from tests.support.models import CONTEXT, QUESTION, exported_model

pytestmark = pytest.mark.large

_EXAMPLES = [
  SquadExample("mill", QUESTION, CONTEXT),
  SquadExample("many windows", "When?", "É 🙂 " + CONTEXT * 15),
  SquadExample("blank", "Who?", " "),
  SquadExample("surrogate", "Who?", "\ud83d the mill was built by Anna"),
]


@functools.cache
def _predictions(kind):
  _, extractor = exported_model(kind)
  return list(extractor.predictions(_EXAMPLES))


def _wrong(first, kind):
  """Changes of a prediction, each of which makes its row wrong."""
  if kind == SpanExtractor:
    answer = first.answer
    changes = (
      {"text": answer.text + "s"},
      {"char_end": answer.char_end + 1},
      {"score": math.nan},
      {"null_odds": answer.null_odds - 0.01},
    )
    answers = [dataclasses.replace(answer, **change) for change in changes]
    return [*({"answer": a} for a in answers), {"n_best": first.n_best[:-1]}]
  span, *others = first.spans
  assert others
  wrong = {"text": "x", "char_end": 99, "score": 99.0, "probability": math.nan}
  changed = [dataclasses.replace(span, **{n: x}) for n, x in wrong.items()]
  lists = [(), first.spans[:-1], (*others, span)]
  lists += [(x, *others) for x in changed]
  return [{"spans": spans} for spans in lists]


@pytest.mark.usefixtures("asked_here")
@pytest.mark.parametrize(
  ("kind", "column"), [(SpanExtractor, "answer"), (BioExtractor, "span_count")]
)
def test_every_kind_of_difference_is_refused(kind, column):
  directory, _ = exported_model(kind)
  first, *rest = _predictions(kind)
  wrong = [dataclasses.replace(first, **c) for c in _wrong(first, kind)]
  rows = list(map(kind.columns.expected_row, [*wrong, first, *rest]))
  batches = [[_EXAMPLES[0]] * (len(wrong) + 1), _EXAMPLES[1:]]
  numbers = f"{len(wrong)} of {len(rows)} answers"
  with pytest.raises(ValueError, match=numbers) as caught:
    verification.verify_saved_model(directory, batches, rows, 1e-4)
  assert f"mill: {column} " in str(caught.value)


def test_a_process_that_fails_is_an_error():
  with pytest.raises(ChildProcessError, match="status 1"):
    verification.verify_saved_model(
      "model", [_EXAMPLES[:1]], [{}], 1e-4, "false"
    )


@pytest.mark.parametrize(
  ("wanted", "given", "difference"),
  [(-2e4, -20001.0, 5e-5), (0.25, 0.24995, 5e-5), (0.25, 0.2498, 2e-4)],
)
def test_large_scores_may_differ_by_as_many_digits(wanted, given, difference):
  differing, largest = verification._compare_rows(
    {"null_odds": wanted}, {"null_odds": given}, 1e-4
  )
  assert largest == pytest.approx(difference)
  assert len(differing) == (difference > 1e-4)
  assert all("null_odds" in text and "0.25" in text for text in differing)


def test_ops_that_a_server_has_not_are_refused():
  allowed = list(verification.TEXT_OPS)
  verification.check_served_ops(["MatMul", *allowed], allowed)
  with pytest.raises(ValueError, match="FastBertNormalize, "):
    verification.check_served_ops(["FastBertNormalize"], ["FastBertNormalize"])
  with pytest.raises(ValueError, match="PyFunc"):
    verification.check_served_ops(["MatMul", "PyFunc"], [])
