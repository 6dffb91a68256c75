from bert_span.squad.lint.length_summary import length_summary, summaries


def test_a_percentile_is_the_least_length_that_so_many_do_not_exceed():
  assert length_summary(range(1, 101)) == {
    "count": 100,
    "mean": 50.5,
    "p50": 50,
    "p90": 90,
    "p95": 95,
    "p99": 99,
    "max": 100,
  }


def test_percentiles_are_lengths_that_occur():
  summary = length_summary([2, 10, 1000])
  assert (summary["p50"], summary["p90"], summary["max"]) == (10, 1000, 1000)


def test_what_has_no_length_is_left_out():
  assert list(summaries(question=[3], answer=[])) == ["question"]
