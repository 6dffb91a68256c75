"""Check 8, on the edge cases that come with the package."""

from altered_goldens import altered

from bert_span.certificate.edge_checks import compare_lost


def test_a_dropped_question_that_is_not_trained_on_here_fails(sample):
  def change(summary):
    skipped = ["edge037", *summary["skipped_qas_ids"]]
    return {**summary, "skipped_qas_ids": skipped}

  goldens = altered(sample, "summary_g.json", change)
  comparison = compare_lost(goldens, goldens.configurations["g"])
  assert not comparison.passes
  assert comparison.failures == ["edge037: [None]"]
