"""What the Beam programs do: answers and masked text, made on many machines."""

import dataclasses
import os

import apache_beam as beam
import tensorflow as tf

from bert_span.beam import prediction_pipeline, shards
from bert_span.beam.answering import AnswerSource, is_saved_model
from bert_span.beam.question_files import find_question_files
from bert_span.jobs.create_pretraining_data import open_text
from bert_span.presets.span_config import find_embedded_model
from bert_span.pretraining.records import write_records
from bert_span.pretraining.text_sources import sources_of_worker
from bert_span.storage.log import log_line
from bert_span.text.vocabulary import vocabulary_sha256

_NO_COUNTERS = "This runner has no counters."


def is_exported(model):
  """Whether a model is what export_saved_model wrote, not a model directory."""
  if not tf.io.gfile.isdir(find_embedded_model(model)):
    raise ValueError(
      f"--model={model} is not a folder. Give one that run_squad or "
      "export_saved_model wrote, or minilm_squad."
    )
  return is_saved_model(model)


def answer_files(
  pipeline_options, options, model, output_dir, questions=(), **source_options
):
  """Answers the questions without an answer.

  `options` are `AnswerFilesOptions`, source_options those of `AnswerSource`.
  """
  num_shards, output_format = options.num_shards, options.output_format
  files = find_question_files(options.patterns, options.input_format)
  squad = [file.path for file in files if file.format == "squad"]
  if questions and squad:
    raise ValueError(
      f"--question is for passages, and {squad[0]} has its own questions. "
      "Leave the flag out, or give JSON lines of id and context."
    )
  source = AnswerSource(model, n_best=options.n_best, **source_options)
  settings = {
    **dataclasses.asdict(source),
    "model_sha256": shards.folder_sha256(source.model),
    # Sizes in bytes, as contents may be too large to hash.
    "input": {f.path: tf.io.gfile.stat(f.path).length for f in files},
    "input_forms": sorted({file.format for file in files}),
    "question": list(questions),
    "num_shards": num_shards,
    "output_format": output_format,
  }
  del settings["verify"]  # Answers do not depend on it.
  shards.start_or_continue(output_dir, settings)
  answers = shards.AnswerShards(output_dir, num_shards, output_format)
  done = len(answers.done())
  log_line(f"{len(files)} files, {num_shards} shards, {done} of them done.")
  pipeline = beam.Pipeline(options=pipeline_options)
  steps = (files, answers, source, questions)
  prediction_pipeline.add_prediction_steps(pipeline, *steps)
  numbers = prediction_pipeline.run(pipeline)
  missing = num_shards - len(answers.done())
  if numbers is None:
    log_line(f"{num_shards - missing} shards are done. {_NO_COUNTERS}")
  else:
    log_line(
      f"{numbers['questions_written']} questions answered, "
      f"{numbers['dead_letters']} records in dead letters, "
      f"{numbers['records_done_before']} done before; "
      f"{numbers['shards_written']} shards written."
    )
    # RunInference measures them.
    answering = numbers["inference_batch_latency_micro_secs"] / 1e6
    loading = numbers["load_model_latency_milli_secs"] / 1e3
    rate = numbers["questions_written"] / max(answering, 1e-9)
    log_line(
      f"{answering:.1f} s of answering on all workers together, after "
      f"{loading:.1f} s of loading models: {rate:.2f} questions/s a worker."
    )
  if missing:
    raise RuntimeError(
      f"{missing} shards are not in {output_dir}. Give the same command again."
    )


def write_shards_of_masked_text(
  pipeline_options, output_dir, num_shards, dupe_factor, **masked_text
):
  """Writes the missing shards of the masked text of `open_text`."""
  making, sources = open_text(**masked_text)
  sources_of_worker(sources, num_shards, 0)  # enough files?
  options = {
    "count": num_shards,
    "sources": list(map(dataclasses.asdict, sources)),
    "vocabulary": vocabulary_sha256(making.vocabulary),
    "do_lower_case": masked_text["do_lower_case"],
    "max_seq_length": masked_text["max_seq_length"],
    "options": dataclasses.asdict(masked_text["options"]),
    "copies": dupe_factor,
  }
  shards.start_or_continue(output_dir, options)
  paths = [
    os.path.join(output_dir, f"masked-{n:05d}-of-{num_shards:05d}.tfrecord")
    for n in range(num_shards)
  ]
  missing = [n for n in range(num_shards) if not tf.io.gfile.exists(paths[n])]

  def write(shard):
    copies = making.copies(sources, dupe_factor, num_shards, shard)
    number = write_records([paths[shard]], copies, making)
    prediction_pipeline.count("records_written", number)
    prediction_pipeline.count("shards_written")

  pipeline = beam.Pipeline(options=pipeline_options)
  # Reshuffle: each shard may be made by another worker.
  pipeline | beam.Create(missing) | beam.Reshuffle() | beam.Map(write)
  numbers = prediction_pipeline.run(pipeline)
  if numbers is None:
    log_line(f"{len(missing)} shards written. {_NO_COUNTERS}")
  else:
    log_line(
      f"{numbers['shards_written']} of {num_shards} shards written, with "
      f"{numbers['records_written']} records; others were in {output_dir}."
    )
