"""Questions in files to answers in shards, as an Apache Beam pipeline.

files -> questions -> shards -> RunInference -> two files a shard
"""

import collections

import apache_beam as beam
from apache_beam.metrics import Metrics, MetricsFilter
from apache_beam.ml.inference.base import ModelHandler, RunInference

from bert_span.beam.answering import answer_shard
from bert_span.beam.question_files import read_questions

_NAMESPACE = "bert_span"


def add_prediction_steps(pipeline, files, shards, source, questions=()):
  """Answers `QuestionFile`s in `AnswerShards` not done, by `AnswerSource`."""
  done = shards.done()

  def read(file):
    for record in read_questions(file, tuple(questions)):
      count("records_read")
      shard = shards.shard_of(record)
      if shard in done:
        count("records_done_before")
      else:
        yield shard, record

  def write(element):
    shard, rows, dead_letters = element
    shards.write(shard, rows, dead_letters)
    count("questions_written", len(rows))
    count("dead_letters", len(dead_letters))
    count("shards_written")

  records = (
    pipeline
    | "Files" >> beam.Create(files)
    # Each file may be read by another worker.
    | "Spread" >> beam.Reshuffle()
    | "Read" >> beam.FlatMap(read)
  )
  # A shard without questions is written as well: a run is done when all
  # shards have files.
  empty = pipeline | "Shards" >> beam.Create(
    [(shard, None) for shard in range(shards.count) if shard not in done]
  )
  return (
    (records, empty)
    | beam.Flatten()
    # Before answering, so that no shard waits for another.
    | "Deal" >> beam.GroupByKey()
    # A shard is a batch of its own, without the None of "Shards".
    | "Collect" >> beam.MapTuple(lambda s, found: [(s, [*filter(None, found)])])
    | "Answer"
    >> RunInference(
      ShardModelHandler(source).with_no_batching(), metrics_namespace=_NAMESPACE
    )
    | "Write" >> beam.Map(write)
  )


class ShardModelHandler(ModelHandler):
  def __init__(self, source):
    super().__init__()
    self._source = source

  def load_model(self):
    return self._source.load()

  def run_inference(self, batch, model, inference_args=None):
    return [(shard, *answer_shard(records, model)) for shard, records in batch]


def count(name, number=1):
  """Adds to a counter of the pipeline, see `run`."""
  Metrics.counter(_NAMESPACE, name).inc(number)


def run(pipeline):
  """Runs a pipeline; a Counter of its metrics, None if the runner has none."""
  result = pipeline.run()
  result.wait_until_finish()
  try:
    metrics = result.metrics()
  except NotImplementedError:
    return None
  found = metrics.query(MetricsFilter().with_namespace(_NAMESPACE))
  totals = collections.Counter()
  for metric in (*found["counters"], *found["distributions"]):
    # A distribution, such as RunInference's latency, counts by its sum.
    value = getattr(metric.result, "sum", metric.result)
    totals[metric.key.metric.name] += value
  return totals
