"""The job of beam_predict: answers questions of many files on many machines."""

import dataclasses

import apache_beam as beam
import tensorflow as tf

from bert_span.beam.answering import AnswerSource
from bert_span.beam.prediction_pipeline import add_prediction_steps, run
from bert_span.beam.question_files import find_question_files
from bert_span.beam.shards import (
  AnswerShards,
  folder_sha256,
  start_or_continue,
)
from bert_span.storage.log import log_line


def answer_files(
  pipeline_options,
  model,
  patterns,
  output_dir,
  input_format=None,
  questions=(),
  num_shards=16,
  output_format="jsonl",
  **source_options,
):
  """Answers the questions that have no answer yet, and logs the counts.

  The arguments are the flags of bert_span.beam_predict, apache_beam's
  PipelineOptions, and those of `AnswerSource`.

  Raises:
    RuntimeError: some shards are still missing.
    ValueError: there are no such files, or the folder has answers of another
      run.
  """
  files = find_question_files(patterns, input_format)
  squad = [file.path for file in files if file.format == "squad"]
  if questions and squad:
    raise ValueError(
      f"--question is for passages, and {squad[0]} has its own questions. "
      "Leave the flag out, or give JSON lines of id and context."
    )
  source = AnswerSource(model, **source_options)
  start_or_continue(
    output_dir,
    {
      **dataclasses.asdict(source),
      "model_sha256": folder_sha256(source.model),
      # Sizes in bytes, as contents may be too large to hash.
      "input": {f.path: tf.io.gfile.stat(f.path).length for f in files},
      "input_forms": sorted({file.format for file in files}),
      "question": list(questions),
      "num_shards": num_shards,
      "output_format": output_format,
    },
  )
  shards = AnswerShards(output_dir, num_shards, output_format)
  log_line(
    f"{len(files)} files, {num_shards} shards, {len(shards.done())} of them "
    "done."
  )
  pipeline = beam.Pipeline(options=pipeline_options)
  add_prediction_steps(pipeline, files, shards, source, questions)
  numbers = run(pipeline)
  log_line(
    f"{numbers.get('questions_written', 0)} questions answered, "
    f"{numbers.get('dead_letters', 0)} records in dead letters, "
    f"{numbers.get('records_done_before', 0)} done before; "
    f"{numbers.get('shards_written', 0)} shards written."
  )
  seconds = numbers.get("answering_milliseconds", 0) / 1000
  if seconds:
    rate = numbers.get("questions_answered", 0) / seconds
    log_line(
      f"{seconds:.1f} s of answering on all workers together, without loading "
      f"models: {rate:.2f} questions/s a worker."
    )
  missing = num_shards - len(shards.done())
  if missing:
    raise RuntimeError(
      f"{missing} of {num_shards} shards are not in {output_dir}. Run the same "
      "command again."
    )
