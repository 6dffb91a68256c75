"""Questions in files to answers in shards, as an Apache Beam pipeline.

  files -> questions -> shards -> RunInference -> two files a shard

Questions are dealt to shards before they are answered, and a shard is written
by the worker that answered it. So nothing waits for the last answer: whenever
a run is stopped, the shards that are written need not be done again. The model
is loaded once a worker process, by RunInference.
"""

import time

import apache_beam as beam
from apache_beam.metrics import Metrics
from apache_beam.ml.inference.base import (
  KeyedModelHandler,
  ModelHandler,
  RunInference,
)

from bert_span.beam.question_files import read_questions
from bert_span.beam.shard_answers import answer_shard

NAMESPACE = "bert_span"


def add_prediction_steps(pipeline, files, shards, source, questions=()):
  """Adds the steps that answer questions; shards that are done are left out.

  Args:
    pipeline: apache_beam Pipeline.
    files: list of `QuestionFile`.
    shards: `AnswerShards`.
    source: `AnswerSource`.
    questions: see `read_questions`.

  Returns:
    PCollection of the numbers of the shards that were written.
  """
  done = shards.done()
  records = (
    pipeline
    | "Files" >> beam.Create(files)
    # Each file may be read by another worker.
    | "Spread" >> beam.Reshuffle()
    | "Read" >> beam.ParDo(_Read(shards, done, tuple(questions)))
  )
  # A shard without questions is written, too: all files tell that all is done.
  empty = pipeline | "Shards" >> beam.Create(
    [(shard, None) for shard in range(shards.count) if shard not in done]
  )
  return (
    (records, empty)
    | beam.Flatten()
    | "Deal" >> beam.GroupByKey()
    | "Collect" >> beam.MapTuple(_records_of_shard)
    | "Answer" >> RunInference(KeyedModelHandler(ShardModelHandler(source)))
    | "Write" >> beam.ParDo(_Write(shards))
  )


class ShardModelHandler(ModelHandler):
  """Answers a shard at a time; batches are made within it, by length.

  Args:
    source: `AnswerSource`.
  """

  def __init__(self, source):
    super().__init__(min_batch_size=1, max_batch_size=1)
    self._source = source

  def load_model(self):
    """Once a worker process: a function of examples to rows of answers."""
    return self._source.load()

  def run_inference(self, batch, model, inference_args=None):
    """Answers shards.

    Args:
      batch: sequence of lists of `PlacedQuestion` and `BadRecord`.
      model: what `load_model` gave.
      inference_args: none are known.

    Returns:
      List of `AnsweredShard`.
    """
    del inference_args
    return [answer_shard(records, _counted(model)) for records in batch]

  def get_num_bytes(self, batch):
    """Characters stand for bytes: the metric is not worth a serialization."""
    return sum(
      len(record.example.question) + len(record.example.context)
      for records in batch
      for record in records
      if hasattr(record, "example")
    )


class _Read(beam.DoFn):
  """`QuestionFile` -> (shard, question or bad record), of shards not done."""

  def __init__(self, shards, done, questions):
    self._shards, self._done, self._questions = shards, done, questions

  def process(self, file):
    for record in read_questions(file, self._questions):
      _count("records_read")
      shard = self._shards.shard_of(record)
      if shard in self._done:
        _count("records_done_before")
      else:
        yield shard, record


class _Write(beam.DoFn):
  """(shard, `AnsweredShard`) -> shard, once its files are there."""

  def __init__(self, shards):
    self._shards = shards

  def process(self, element):
    shard, answered = element
    self._shards.write(shard, answered.rows, answered.dead_letters)
    _count("questions_written", len(answered.rows))
    _count("dead_letters", len(answered.dead_letters))
    _count("shards_written")
    yield shard


def _records_of_shard(shard, records):
  return shard, [record for record in records if record is not None]


def _counted(answer_rows):
  """The same function, its rows counted as they come."""

  def counted(examples):
    begun = time.monotonic()
    for row in answer_rows(examples):
      _count("questions_answered")
      yield row
    seconds = time.monotonic() - begun
    _count("answering_milliseconds", round(1000 * seconds))

  return counted


def _count(name, number=1):
  Metrics.counter(NAMESPACE, name).inc(number)


def counters(result):
  """The counters of a finished pipeline.

  Args:
    result: apache_beam PipelineResult.

  Returns:
    Dict of name to int; of attempts that counted, where the runner tells.
  """
  query = beam.metrics.MetricsFilter().with_namespace(NAMESPACE)
  found = result.metrics().query(query)["counters"]
  totals = {}
  for metric in found:
    name = metric.key.metric.name
    value = metric.committed if metric.committed is not None else 0
    totals[name] = totals.get(name, 0) + (value or metric.attempted or 0)
  return totals
