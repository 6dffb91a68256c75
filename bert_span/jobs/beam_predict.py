"""What beam_predict does: answers, made on many machines."""

import dataclasses
import typing

import apache_beam as beam
import tensorflow as tf

from bert_span.beam.answering import AnswerSource, is_saved_model
from bert_span.beam.counters import run_and_count
from bert_span.beam.pipeline_options import pipeline_options
from bert_span.beam.prediction_pipeline import add_prediction_steps
from bert_span.beam.question_files import find_question_files
from bert_span.beam.shards import (
  AnswerShards,
  folder_sha256,
  start_or_continue,
)
from bert_span.extractors.loading import (
  check_n_best,
  merged_options,
  saved_config,
)
from bert_span.extractors.options import (
  BatchOptions,
  LengthOptions,
  ModelOptions,
  PrecisionOptions,
)
from bert_span.presets.span_config import find_embedded_model
from bert_span.storage.log import log_line

if typing.TYPE_CHECKING:
  from bert_span.beam_predict import BeamPredictOptions

# The options that an exported model has fixed, and its name.
_OF_MODELS = ModelOptions, PrecisionOptions, LengthOptions, BatchOptions


def beam_predict(options: "BeamPredictOptions"):
  """Answers the questions that have no answer in output_dir."""
  pipeline = beam.Pipeline(
    options=pipeline_options(options.beam, options.num_shards)
  )
  output_dir, questions = options.output_dir, options.question
  num_shards, output_format = options.num_shards, options.output_format
  source = _answer_source(options)
  files = find_question_files(options.input, options.input_format)
  settings = {
    **dataclasses.asdict(source),
    "model_sha256": folder_sha256(find_embedded_model(options.model)),
    # Sizes in bytes, as contents may be too large to hash.
    "input": {f.path: tf.io.gfile.stat(f.path).length for f in files},
    "input_forms": sorted({file.format for file in files}),
    "question": list(questions),
    "num_shards": num_shards,
    "output_format": output_format,
  }
  del settings["verify"]  # Answers do not depend on it.
  start_or_continue(output_dir, settings)
  answers = AnswerShards(output_dir, num_shards, output_format)
  done = len(answers.done())
  log_line(f"{len(files)} files, {num_shards} shards, {done} of them done.")
  add_prediction_steps(pipeline, files, answers, source, questions)
  totals = run_and_count(pipeline)
  missing = num_shards - len(answers.done())
  if totals is None:
    done = num_shards - missing
    log_line(f"{done} shards are done. This runner has no counters.")
  else:
    log_line(
      f"{totals['questions_written']} questions answered, "
      f"{totals['dead_letters']} records in dead letters, "
      f"{totals['records_done_before']} done before; "
      f"{totals['shards_written']} shards written."
    )
    # RunInference measures them.
    answer_seconds = totals["inference_batch_latency_micro_secs"] / 1e6
    load_seconds = totals["load_model_latency_milli_secs"] / 1e3
    rate = totals["questions_written"] / max(answer_seconds, 1e-9)
    log_line(
      f"{answer_seconds:.1f} s of answering on all workers together, after "
      f"{load_seconds:.1f} s of loading models: {rate:.2f} questions/s a "
      "worker."
    )
  num_dead = answers.num_dead_letters()  # of earlier calls, too
  has_answers = True
  if totals is not None:
    dead_before = num_dead - totals["dead_letters"]
    answered_before = totals["records_done_before"] - dead_before
    has_answers = totals["questions_written"] + answered_before > 0
  if num_dead and (options.strict or not has_answers):
    raise ValueError(
      f"{num_dead:,} records are not answered. The files "
      f"{output_dir}/dead_letters-* name the reason for each."
    )
  if missing:
    raise RuntimeError(
      f"{missing} shards are not in {output_dir}. Give the same command again."
    )


def _answer_source(options):
  """Returns the `AnswerSource` of a model directory or an exported model."""
  model = options.model
  if not tf.io.gfile.isdir(find_embedded_model(options.model)):
    raise ValueError(
      f"model={model} is not a folder. Give one that run_squad or "
      "export_saved_model wrote, or minilm_squad."
    )
  if is_saved_model(model):
    given_names = {name for part in _OF_MODELS for name in options.given(part)}
    for name in sorted(given_names - {"model"}):
      raise ValueError(
        f"{options.mention(name)} is fixed in an exported model. Leave it out, "
        "or give the model directory."
      )
    return AnswerSource(model, options.n_best)
  windows, decoder = merged_options(options, saved_config(model), model)
  check_n_best(options, decoder)
  return AnswerSource(
    model,
    options.n_best,
    options.predict_batch_size,
    windows,
    decoder,
    options.fixed_length,
    options.verify,
    options.dtype,
  )
