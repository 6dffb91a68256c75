"""Counters of a pipeline, and their totals after it has run."""

import collections

from apache_beam.metrics import Metrics, MetricsFilter

NAMESPACE = "bert_span"


def count(name, number=1):
  """Adds to a counter of the pipeline that calls it."""
  Metrics.counter(NAMESPACE, name).inc(number)


def run_and_count(pipeline):
  """Runs a pipeline; returns a Counter of its metrics, or None."""
  result = pipeline.run()
  result.wait_until_finish()
  try:
    metrics = result.metrics()
  except NotImplementedError:
    return None
  results = metrics.query(MetricsFilter().with_namespace(NAMESPACE))
  totals = collections.Counter()
  for metric in (*results["counters"], *results["distributions"]):
    # Of a distribution, such as RunInference's latency, the sum is used.
    value = getattr(metric.result, "sum", metric.result)
    totals[metric.key.metric.name] += value
  return totals
