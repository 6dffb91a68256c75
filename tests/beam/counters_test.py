"""Totals of counters and distributions of a pipeline."""

from unittest import mock

import pytest

pytest.importorskip("apache_beam", reason="pip install -e '.[beam]'")

import apache_beam as beam
from apache_beam.metrics import Metrics
from apache_beam.options.pipeline_options import PipelineOptions

from bert_span.beam.counters import NAMESPACE, count, run_and_count


def _counted(number):
  count("numbers")
  count("sum", number)
  Metrics.distribution(NAMESPACE, "latency").update(10 * number)
  Metrics.counter("others", "numbers").inc()
  return number


@pytest.mark.large
def test_counters_and_sums_of_distributions_of_all_steps_are_added():
  pipeline = beam.Pipeline(options=PipelineOptions(["--runner=FnApiRunner"]))
  for step, numbers in (("one", [1, 2]), ("two", [4])):
    created = pipeline | f"create {step}" >> beam.Create(numbers)
    created | f"count {step}" >> beam.Map(_counted)
  assert run_and_count(pipeline) == {"numbers": 3, "sum": 7, "latency": 70}


def test_a_runner_without_metrics_has_no_counters():
  result = mock.Mock()
  result.metrics.side_effect = NotImplementedError
  assert run_and_count(mock.Mock(run=lambda: result)) is None
  result.wait_until_finish.assert_called_once_with()
