"""Point 8, on the edge cases that ship with the tests."""

import pytest
from altered_goldens import altered

from bert_span.certificate.certificate import check_edge_cases
from bert_span.certificate.configurations import EDGE
from bert_span.certificate.edge_checks import check_edge_training


@pytest.fixture(scope="module")
def checks(edge_cases):
  return {check.name: check for check in check_edge_cases(EDGE, edge_cases)}


@pytest.mark.large
def test_edge_cases_are_the_originals_or_accounted_for(checks):
  assert len(checks) > 30
  for check in checks.values():
    assert check.holds, (check.name, check.failures)
  lost = checks["Questions lost to training g"]
  assert lost.cases == 12  # 9 dropped, 3 mislabelled
  assert checks["Questions without a span j"].cases > 50


@pytest.mark.large
def test_each_deviation_is_told_with_its_questions_and_its_reason(checks):
  notes = [note for check in checks.values() for note in check.notes]

  def find(start):
    return [note for note in notes if note.startswith(start)]

  (dropped,) = find("g, quirk 1, 2:")
  assert "edge019" in dropped and "edge034" in dropped
  (counted,) = find("g, quirk 3:")
  assert "edge043" in counted
  (mislabelled,) = find("k, quirk 4:")
  assert "edge037, edge039, edge040" in mislabelled
  (empty,) = find("h, random, quirk 13:")
  assert "edge042, edge063, edge064, edge065" in empty
  assert find("j, ties, quirk 15:")


def test_a_dropped_question_that_is_not_learned_here_is_noticed(edge_cases):
  def change(summary):
    skipped = ["edge037", *summary["skipped_qas_ids"]]
    return {**summary, "skipped_qas_ids": skipped}

  goldens = altered(edge_cases, "summary_g.json", change)
  check = check_edge_training(goldens, EDGE)[0]
  assert not check.holds
  assert check.failures == ("edge037: [None]",)
