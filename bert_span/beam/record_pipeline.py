"""Shards of TFRecords, as an Apache Beam pipeline."""

import apache_beam as beam
from apache_beam.metrics import Metrics

from bert_span.beam.prediction_pipeline import NAMESPACE


def add_record_steps(pipeline, shards):
  """Adds the steps that write shards; those that are done are left out.

  Args:
    pipeline: apache_beam Pipeline.
    shards: `SquadRecordShards` or `PretrainingRecordShards`.

  Returns:
    PCollection of the numbers of the shards that were written.
  """
  wanted = [n for n in range(shards.count) if not shards.is_done(n)]
  return (
    pipeline
    | "Shards" >> beam.Create(wanted)
    # Each may be made by another worker.
    | "Spread" >> beam.Reshuffle()
    | "Make" >> beam.ParDo(_Make(shards))
  )


class _Make(beam.DoFn):
  """Shard -> shard, once its file is there."""

  def __init__(self, shards):
    self._shards = shards

  def process(self, shard):
    records = self._shards.make(shard)
    Metrics.counter(NAMESPACE, "records_written").inc(records)
    Metrics.counter(NAMESPACE, "shards_written").inc()
    yield shard
