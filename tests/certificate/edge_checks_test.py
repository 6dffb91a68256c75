"""Check 8, on the edge cases that come with the package."""

import pytest
from altered_goldens import altered

from bert_span.certificate.edge_checks import compare_edge_cases, compare_lost


@pytest.fixture(scope="module")
def comparisons(sample):
  return {c.name: c for c in compare_edge_cases(sample, sample.edge_cases)}


@pytest.mark.large
def test_edge_cases_are_the_originals_or_explained(comparisons):
  assert len(comparisons) > 30
  for comparison in comparisons.values():
    assert comparison.passes, (comparison.name, comparison.failures)
  # 9 dropped, 3 mislabelled
  assert comparisons["Questions lost to training g"].cases == 12
  assert comparisons["Questions without a span j"].cases > 50


@pytest.mark.large
def test_each_deviation_is_listed_with_its_questions(comparisons):
  notes = [note for c in comparisons.values() for note in c.notes]

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


def test_a_dropped_question_that_is_not_trained_on_here_fails(sample):
  def change(summary):
    skipped = ["edge037", *summary["skipped_qas_ids"]]
    return {**summary, "skipped_qas_ids": skipped}

  goldens = altered(sample, "summary_g.json", change)
  comparison = compare_lost(goldens, goldens.configurations["g"])
  assert not comparison.passes
  assert comparison.failures == ["edge037: [None]"]
