"""What beam_create_records does: makes records on many machines."""

import dataclasses

import apache_beam as beam

from bert_span.beam import job_record
from bert_span.beam.prediction_pipeline import counters
from bert_span.beam.record_pipeline import add_record_steps
from bert_span.beam.record_shards import (
  PretrainingRecordShards,
  SquadRecordShards,
)
from bert_span.pretraining.corpus.text_sources import (
  find_sources,
  sources_of_worker,
)
from bert_span.storage.log import log_line
from bert_span.text.vocabulary import load_vocabulary


def make_squad_records(pipeline_options, vocab_file, **values):
  """Makes what create_squad_records makes.

  Args:
    pipeline_options: apache_beam PipelineOptions.
    vocab_file: vocab.txt of the model.
    **values: of `SquadRecordShards`, but its vocabulary.

  Raises:
    ValueError: the folder has records that were made otherwise.
  """
  vocabulary = tuple(load_vocabulary(vocab_file))
  shards = SquadRecordShards(vocabulary=vocabulary, **values)
  for line in shards.check():
    log_line(line)
  _run(shards, pipeline_options)
  manifest, skipped = shards.finish()
  for line in skipped.lines():
    log_line(line)
  log_line(f"The records are listed in {manifest}")


def make_pretraining_records(pipeline_options, vocab_file, text, **values):
  """Makes what create_pretraining_data makes, a worker's part a shard.

  Args:
    pipeline_options: apache_beam PipelineOptions.
    vocab_file: vocab.txt of the model.
    text: `TextLocation`.
    **values: of `PretrainingRecordShards`, but its vocabulary and sources.

  Raises:
    ValueError: there are fewer sources than shards, or the folder has records
      that were made otherwise.
  """
  vocabulary = tuple(load_vocabulary(vocab_file))
  shards = PretrainingRecordShards(
    vocabulary=vocabulary, sources=tuple(find_sources(text)), **values
  )
  sources_of_worker(shards.sources, shards.count, 0)  # enough files?
  made_of = dataclasses.asdict(shards)
  directory = made_of.pop("directory")
  job_record.begin_or_continue(directory, job_record.as_json(made_of))
  _run(shards, pipeline_options)


def _run(shards, pipeline_options):
  """Makes the shards that are missing."""
  pipeline = beam.Pipeline(options=pipeline_options)
  add_record_steps(pipeline, shards)
  result = pipeline.run()
  result.wait_until_finish()
  numbers = counters(result)
  log_line(
    f"{numbers.get('shards_written', 0)} of {shards.count} shards written, "
    f"with {numbers.get('records_written', 0)} records; the others stood in "
    f"{shards.directory} already."
  )
