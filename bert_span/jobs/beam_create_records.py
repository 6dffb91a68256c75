"""What beam_create_records does: masked text, made on many machines."""

import dataclasses
import os
import typing

import apache_beam as beam
import tensorflow as tf

from bert_span.beam.counters import count, run_and_count
from bert_span.beam.pipeline_options import pipeline_options
from bert_span.beam.shards import start_or_continue
from bert_span.pretraining.batches import open_text
from bert_span.pretraining.records import write_records
from bert_span.pretraining.text_sources import sources_of_worker
from bert_span.storage.log import log_line
from bert_span.text.vocabulary import vocabulary_sha256

if typing.TYPE_CHECKING:
  from bert_span.beam_create_records import BeamCreateRecordsOptions


def beam_create_records(options: "BeamCreateRecordsOptions"):
  """Writes the missing shards of masked text."""
  pipeline = beam.Pipeline(
    options=pipeline_options(options.beam, options.num_shards)
  )
  output_dir, num_shards = options.output_dir, options.num_shards
  dupe_factor = options.dupe_factor
  pretraining_input, sources = open_text(options)
  # Refuses too few files.
  sources_of_worker(sources, num_shards, 0, option="num_shards")
  saved = {
    "count": num_shards,
    "sources": list(map(dataclasses.asdict, sources)),
    "vocabulary": vocabulary_sha256(pretraining_input.vocabulary),
    "do_lower_case": options.do_lower_case,
    "max_seq_length": options.max_seq_length,
    "options": dataclasses.asdict(pretraining_input.masking),
    "copies": dupe_factor,
  }
  start_or_continue(output_dir, saved)
  paths = [
    os.path.join(output_dir, f"masked-{n:05d}-of-{num_shards:05d}.tfrecord")
    for n in range(num_shards)
  ]
  missing = [n for n in range(num_shards) if not tf.io.gfile.exists(paths[n])]

  def write(shard):
    copies = pretraining_input.copies(sources, dupe_factor, num_shards, shard)
    number = write_records([paths[shard]], copies, pretraining_input)
    count("records_written", number)
    count("shards_written")

  # Reshuffle: each shard may be made by another worker.
  pipeline | beam.Create(missing) | beam.Reshuffle() | beam.Map(write)
  totals = run_and_count(pipeline)
  if totals is None:
    log_line(f"{len(missing)} shards written. This runner has no counters.")
  else:
    log_line(
      f"{totals['shards_written']} of {num_shards} shards written, with "
      f"{totals['records_written']} records, into {output_dir}."
    )
