"""The job of beam_create_records: masked text, made on many machines."""

import dataclasses
import os

import apache_beam as beam
import tensorflow as tf

from bert_span.beam.prediction_pipeline import count, run
from bert_span.beam.shards import start_or_continue
from bert_span.pretraining.batches import PretrainingInput
from bert_span.pretraining.records import write_records
from bert_span.pretraining.text_sources import (
  find_sources,
  sources_of_worker,
)
from bert_span.storage.log import log_line
from bert_span.text.vocabulary import load_vocabulary, vocabulary_sha256


def write_shards_of_masked_text(
  pipeline_options,
  output_dir,
  num_shards,
  text,
  vocab_file,
  do_lower_case,
  max_seq_length,
  options,
  dupe_factor,
):
  """Writes the missing shards of a run; see `write_masked_text`.

  Shard n has the records of create_pretraining_data with --worker=n and
  --num_workers=num_shards.

  Raises:
    ValueError: there are fewer files of text than shards, or the folder has
      records that were made with other options.
  """
  sources = find_sources(text)
  sources_of_worker(sources, num_shards, 0)  # enough files?
  making = PretrainingInput(
    load_vocabulary(vocab_file), do_lower_case, max_seq_length, options
  )
  start_or_continue(
    output_dir,
    {
      "count": num_shards,
      "sources": [dataclasses.asdict(source) for source in sources],
      "vocabulary": vocabulary_sha256(making.vocabulary),
      "do_lower_case": do_lower_case,
      "max_seq_length": max_seq_length,
      "options": dataclasses.asdict(options),
      "copies": dupe_factor,
    },
  )
  paths = [
    os.path.join(output_dir, f"masked-{n:05d}-of-{num_shards:05d}.tfrecord")
    for n in range(num_shards)
  ]
  missing = [n for n in range(num_shards) if not tf.io.gfile.exists(paths[n])]

  def write(shard):
    copies = making.copies(sources, dupe_factor, num_shards, shard)
    number = write_records([paths[shard]], copies, making)
    count("records_written", number)
    count("shards_written")

  pipeline = beam.Pipeline(options=pipeline_options)
  # Reshuffle: each shard may be made by another worker.
  pipeline | beam.Create(missing) | beam.Reshuffle() | beam.Map(write)
  numbers = run(pipeline)
  log_line(
    f"{numbers.get('shards_written', 0)} of {num_shards} shards written, with "
    f"{numbers.get('records_written', 0)} records; the others were in "
    f"{output_dir} already."
  )
