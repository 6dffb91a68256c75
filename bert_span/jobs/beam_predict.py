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

# What an exported model has fixed, but for its name.
_OF_MODELS = ModelOptions, PrecisionOptions, LengthOptions, BatchOptions


def beam_predict(options: "BeamPredictOptions"):
  """Answers the questions that have no answer in output_dir."""
  pipeline = beam.Pipeline(options=pipeline_options(options.beam))
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
    answering = totals["inference_batch_latency_micro_secs"] / 1e6
    loading = totals["load_model_latency_milli_secs"] / 1e3
    rate = totals["questions_written"] / max(answering, 1e-9)
    log_line(
      f"{answering:.1f} s of answering on all workers together, after "
      f"{loading:.1f} s of loading models: {rate:.2f} questions/s a worker."
    )
  dead = answers.num_dead_letters()  # of earlier calls, too
  is_answered = True
  if totals is not None:
    done_before = totals["records_done_before"] + totals["dead_letters"] - dead
    is_answered = totals["questions_written"] + done_before > 0
  if dead and (options.strict or not is_answered):
    raise ValueError(
      f"{dead:,} records are not answered. The files "
      f"{output_dir}/dead_letters-* have each with the reason."
    )
  if missing:
    raise RuntimeError(
      f"{missing} shards are not in {output_dir}. Give the same command again."
    )


def _answer_source(options):
  """The `AnswerSource` of a model directory or of an exported model."""
  model = options.model
  if not tf.io.gfile.isdir(find_embedded_model(options.model)):
    raise ValueError(
      f"model={model} is not a folder. Give one that run_squad or "
      "export_saved_model wrote, or minilm_squad."
    )
  if is_saved_model(model):
    given = [name for part in _OF_MODELS for name in options.given(part)]
    given.remove("model")
    for name in given:
      raise ValueError(
        f"`{name}` is fixed in an exported model. Leave it out, or give the "
        "model directory."
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
