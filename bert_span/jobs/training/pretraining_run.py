"""What a call of run_pretraining does: its steps, in one output directory."""

import dataclasses
import os

import tensorflow as tf

from bert_span.jobs.training.dry_run import planned_devices, pretraining_lines
from bert_span.jobs.training.pretraining_job import (
  MODEL_DIRECTORY,
  PretrainingJob,
)
from bert_span.presets.encoder_source import EncoderSource
from bert_span.pretraining.corpus.text_sources import find_sources
from bert_span.pretraining.input import TextInput
from bert_span.pretraining.options import (
  MaskingOptions,
  PretrainingOptions,
  TextLocation,
)
from bert_span.storage.atomic_file import write_text_atomically
from bert_span.storage.record_files import is_record_file
from bert_span.training.devices.strategy import start_strategy
from bert_span.training.devices.strategy_options import StrategyOptions
from bert_span.training.devices.workers import is_chief
from bert_span.training.options import SelectionOptions


@dataclasses.dataclass(frozen=True)
class PretrainingRun:
  """The steps of a run, in this order, and their inputs.

  Attributes:
    output_dir: folder of everything that is written, local or any path of
      tf.io.gfile.
    source: `EncoderSource` of the model to start from.
    max_seq_length: WordPieces in a sequence, [CLS] and [SEP] included.
    masking: `MaskingOptions` with max_predictions.
    do_export: also write the trained model in the other formats.
    eval_text: `TextLocation` of held-out text.
    eval_batch_size: sequences the model scores at once.
    max_eval_steps: batches of held-out text, at most.
    selection: `SelectionOptions` of evaluation during training, or None.
    run_flags: text that repeats the run as --flagfile.
  """

  output_dir: str
  source: EncoderSource
  max_seq_length: int
  masking: MaskingOptions
  options: PretrainingOptions
  do_train: bool = False
  do_export: bool = False
  do_eval: bool = False
  text: TextLocation | None = None
  eval_text: TextLocation | None = None
  eval_batch_size: int = 8
  max_eval_steps: int = 100
  selection: SelectionOptions | None = None
  devices: StrategyOptions = dataclasses.field(default_factory=StrategyOptions)
  run_flags: str = ""


def run_pretraining(run):
  """Does the steps of a `PretrainingRun`.

  Raises:
    OSError: a file cannot be read.
    ValueError: the text, the model or the devices do not fit.
    Preempted: SIGTERM came; the run is saved.
  """
  # First of all: TensorFlow joins workers before it has run anything.
  strategy = start_strategy(run.devices, run.options) if run.do_train else None
  if is_chief(strategy):
    tf.io.gfile.makedirs(run.output_dir)
    path = os.path.join(run.output_dir, "run.flags")
    write_text_atomically(path, run.run_flags)
  text, eval_text = _texts(run)
  eval_limits = (run.eval_batch_size, run.max_eval_steps)
  job = PretrainingJob(run, strategy)
  if run.do_train:
    held_out = None
    if run.selection:
      held_out = job.held_out(eval_text, *eval_limits, run.selection)
    job.train(text, held_out)
  if not is_chief(strategy):
    return  # Only the chief exports and scores.
  if run.do_train and run.do_export:
    job.export()
  if run.do_eval:
    job.evaluate(eval_text, *eval_limits)


def print_dry_run(run, memory_gb=None):
  """Prints what `run_pretraining` would do; memory_gb: `planned_devices`."""
  text, _ = _texts(run)
  job = PretrainingJob(run)
  print("Dry run: nothing is trained, nothing is written.")
  if run.do_train:
    plan = planned_devices(run.devices, run.options.execution, memory_gb)
    for line in pretraining_lines(job, text, plan):
      print(line, flush=True)
  if run.do_eval:
    print(
      f"Then up to {run.max_eval_steps:,} batches of {run.eval_batch_size} "
      "sequences of held-out text would be scored."
    )


def trained_source(output_dir):
  """The `EncoderSource` of the model that an earlier call trained, or None."""
  directory = os.path.join(output_dir, MODEL_DIRECTORY)
  if not tf.io.gfile.isdir(directory):
    return None
  return EncoderSource(preset=directory)


def _texts(run):
  """The `TextInput` to train on and the one to score on, None if not needed.

  They are found before the model is loaded, so that a wrong path is reported
  at once.
  """
  needs_eval_text = run.do_eval or run.selection
  return (
    _text_input(run.text) if run.do_train else None,
    _text_input(run.eval_text) if needs_eval_text else None,
  )


def _text_input(location):
  """What is read: text, or records that hold masked text."""
  sources = find_sources(location)
  are_records = [is_record_file(source.path) for source in sources]
  if any(are_records) and not all(are_records):
    raise ValueError(
      "Text files and record files (.tfrecord) cannot be mixed: give either."
    )
  if are_records[0]:
    return TextInput([source.path for source in sources], are_records=True)
  return TextInput(sources)
