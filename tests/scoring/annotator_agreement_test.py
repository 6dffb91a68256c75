"""Agreement of tags with soft labels and the report, by hand."""

import json
import math

import numpy as np
import pytest

from bert_span.answers.window_logits import WindowLogits
from bert_span.scoring import annotator_agreement as agreement
from bert_span.squad.example import AnswerSpan, SquadExample
from tests.support.squad import OUTSIDE, hand_windows

_ANSWERS = AnswerSpan("ab cd", 0), AnswerSpan("cd", 3)
_EXAMPLE = SquadExample("q1", "Who?", "ab cd", _ANSWERS)


def _passage(labels, probabilities, example=_EXAMPLE):
  starts = 3 * np.arange(len(labels))
  tags = np.array(labels), np.array(probabilities)
  return agreement.TaggedPassage(example, *tags, starts, starts + 2)


_SPLIT = [[0.5, 0, 0.5], [0.5, 0.5, 0]]
_P = [[0.25, 0.25, 0.5], [0.25, 0.25, 0.5]]


def test_scores_by_hand():
  scores = agreement.agreement_scores([_passage(_SPLIT, _P)])
  ln2 = math.log(2)
  cross = (0.5 * 2 * ln2 + 0.5 * ln2) + 2 * ln2
  assert scores["tag_cross_entropy"] == pytest.approx(cross / 2)
  assert scores["annotator_entropy"] == pytest.approx(ln2)
  assert scores["tag_entropy"] == pytest.approx(1.5 * ln2)
  # Both are predicted 0.5 to be inside; annotators say 0.5 and 1.
  assert scores["tag_calibration_error"] == pytest.approx(0.25)
  assert "entropy_correlation" not in scores  # the same entropy everywhere


def test_correlation_is_that_of_all_tokens_together():
  rng = np.random.default_rng(5)
  labels, p = rng.dirichlet([1, 1, 1], size=(2, 40))
  passages = [_passage(labels[:15], p[:15]), _passage(labels[15:], p[15:])]
  scores = agreement.agreement_scores(passages)
  expected = np.corrcoef(*map(agreement.entropies, (labels, p)))[0, 1]
  assert scores["entropy_correlation"] == pytest.approx(expected)


def test_without_annotators_the_files_are_empty():
  files = agreement.AgreementReport(3).files()
  assert [json.loads(text) for text in files.values()] == [{}, []]


def test_passages_come_from_max_context_tokens():
  """Position 1 is the first token; unlabelled examples give nothing."""
  row = [OUTSIDE, (0, 2, True), (3, 5, True), OUTSIDE]
  windows = hand_windows([row, row], prefix=1)
  logits = np.log(np.array([[[1, 1, 1], _P[0], [0.5, 0.3, 0.2], [1, 1, 1]]]))
  logits = np.repeat(logits, 2, axis=0).astype(np.float32)
  examples = [_EXAMPLE, SquadExample("q2", "?", "ab cd")]
  logits = WindowLogits(examples, windows, {"tag_logits": logits})
  (passage,) = agreement.tagged_passages(logits)
  assert passage.example is _EXAMPLE
  np.testing.assert_allclose(passage.labels, _SPLIT)
  expected = [_P[0], [0.5, 0.3, 0.2]]
  np.testing.assert_allclose(passage.probabilities, expected, rtol=1e-6)
  assert passage.char_starts.tolist() == [0, 3]


def test_the_rows_show_where_annotators_split():
  agreed = _passage([[0, 0, 1]], [[0.1, 0.1, 0.8]])
  other = SquadExample("q2", "Where?", "ab", (AnswerSpan("ab", 0),))
  less_split = _passage([[0.5, 0, 0.5]], [_P[0]], other)
  passages = [agreed, less_split, _passage(_SPLIT, _P)]
  first, second = agreement.disagreement_rows(passages, 3)
  assert (first["qas_id"], second["qas_id"]) == ("q1", "q2")
  assert first["split"] == pytest.approx(2 * math.log(2))
  assert first["annotators"] == [["ab cd"], ["cd"]]
  token = first["tokens"][1]
  assert list(token.values())[:3] == ["cd", 3, 5]
  assert token["annotators"] == {"B": 0.5, "I": 0.5, "O": 0.0}
  assert token["model"] == {"B": 0.25, "I": 0.25, "O": 0.5}
  assert agreement.disagreement_rows(passages, 1) == [first]
