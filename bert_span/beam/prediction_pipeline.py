"""An Apache Beam pipeline from questions in files to answers in shards.

files -> questions -> shards -> RunInference -> two files a shard
"""

import apache_beam as beam
from apache_beam.ml.inference.base import ModelHandler, RunInference

from bert_span.beam.answering import answer_shard
from bert_span.beam.counters import NAMESPACE, count
from bert_span.beam.question_files import read_questions


def add_prediction_steps(pipeline, files, shards, source, questions=()):
  """Adds the steps that answer `QuestionFile`s by an `AnswerSource`.

  They write those of the `AnswerShards` that are not done. `questions` are
  asked about every passage, see `read_questions`.
  """
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
  # A shard without questions is written, too: a run is done when all shards
  # have files.
  empty = pipeline | "Shards" >> beam.Create(
    [(shard, None) for shard in range(shards.count) if shard not in done]
  )
  return (
    (records, empty)
    | beam.Flatten()
    # Grouped before answering, so that no shard waits for another.
    | "Deal" >> beam.GroupByKey()
    # A shard is one batch, without the None of "Shards".
    | "Collect"
    >> beam.MapTuple(lambda shard, records: [(shard, [*filter(None, records)])])
    | "Answer"
    >> RunInference(
      ShardModelHandler(source).with_no_batching(), metrics_namespace=NAMESPACE
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
