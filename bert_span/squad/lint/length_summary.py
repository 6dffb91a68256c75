"""Summarizes lengths: mean, percentiles, maximum."""

import numpy as np

PERCENTILES = (50, 90, 95, 99)


def length_summary(lengths):
  """Dict of count, mean, p50, p90, p95, p99 and max of a sequence of integers.

  Percentile p is the least length that p % of all do not exceed. Of 1, 2, ..
  100 the mean is 50.5, p50 is 50, p95 is 95, max is 100.
  """
  lengths = np.asarray(lengths)
  levels = np.percentile(lengths, PERCENTILES, method="inverted_cdf")
  return {
    "count": len(lengths),
    "mean": round(float(lengths.mean()), 2),
    **{f"p{p}": int(n) for p, n in zip(PERCENTILES, levels, strict=True)},
    "max": int(lengths.max()),
  }


def summaries(**lengths):
  """Dict of `length_summary` by name, without names that have no length."""
  return {
    name: length_summary(values)
    for name, values in lengths.items()
    if len(values)
  }
