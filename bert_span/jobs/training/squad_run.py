"""What a call of run_squad does: its steps, for one seed or several."""

import dataclasses
import os

import tensorflow as tf

from bert_span.data.training_records import open_training_records
from bert_span.fine_tuning.development_set import DevelopmentSet
from bert_span.jobs.training.dry_run import fine_tuning_lines, planned_devices
from bert_span.jobs.training.seed_runs import run_seeds
from bert_span.jobs.training.squad_job import SquadJob
from bert_span.squad.tfds import read_questions
from bert_span.storage.atomic_file import write_text_atomically
from bert_span.training.devices.strategy import start_strategy
from bert_span.training.devices.strategy_options import StrategyOptions
from bert_span.training.devices.workers import is_chief, num_workers
from bert_span.training.options import SelectionOptions


@dataclasses.dataclass(frozen=True)
class SquadRun:
  """The steps of a run, in this order, and their inputs.

  Attributes:
    job: `SquadJob` of the first seed, without a strategy.
    train_file: SQuAD file to train on; None for `train_dataset`.
    train_dataset: (TFDS name, split, data_dir), or None.
    train_records: folder of records to train on instead; they must be made of
      `train_file` or `train_dataset` if one is given.
    predict_file: SQuAD file with the questions; None for `predict_dataset`.
    predict_batch_size: windows the model reads at once.
    selection: `SelectionOptions` of evaluation during training, or None.
    num_seeds: trainings, with the job's seed and the next ones.
    run_flags: text that repeats the run as --flagfile.
    settings: JSON value, what several seeds share; a seed that was finished
      with the same settings is not run again.
  """

  job: SquadJob
  do_train: bool = False
  do_predict: bool = False
  do_eval: bool = False
  train_file: str | None = None
  train_dataset: tuple | None = None
  train_records: str | None = None
  predict_file: str | None = None
  predict_dataset: tuple | None = None
  predict_batch_size: int = 8
  write_logits: bool = False
  selection: SelectionOptions | None = None
  devices: StrategyOptions = dataclasses.field(default_factory=StrategyOptions)
  num_seeds: int = 1
  run_flags: str = ""
  settings: object = None

  def train_source(self):
    """The `SquadFile` to train on, or the `TrainingRecords` made of it."""
    source = (self.train_file, self.train_dataset)
    if self.train_records:
      return open_training_records(self.train_records, *source)
    return read_questions(*source)

  def questions(self):
    """The `SquadFile` to answer and to score on."""
    return read_questions(self.predict_file, self.predict_dataset)


def run_squad(run):
  """Does the steps of a `SquadRun`, for one seed or several.

  Raises:
    OSError: a file cannot be read.
    ValueError: the data, the model or the devices do not fit.
    Preempted: SIGTERM came; the run is saved.
  """
  options, output_dir = run.job.fine_tuning_options, run.job.output_dir
  # First of all: TensorFlow joins workers before it has run anything.
  strategy = start_strategy(run.devices, options) if run.do_train else None
  if is_chief(strategy):
    tf.io.gfile.makedirs(output_dir)
    write_text_atomically(os.path.join(output_dir, "run.flags"), run.run_flags)
  job = dataclasses.replace(run.job, strategy=strategy)
  if run.num_seeds == 1:
    _run_job(run, job)
    return
  if num_workers(strategy) > 1:
    raise ValueError(
      "--num_seeds trains on one machine: unset TF_CONFIG, or give every "
      "machine its own --seed and --output_dir."
    )

  def run_one(seed, folder):
    seeded = dataclasses.replace(options, seed=seed)
    return _run_job(
      run,
      dataclasses.replace(job, output_dir=folder, fine_tuning_options=seeded),
    )

  seeds = list(range(options.seed, options.seed + run.num_seeds))
  run_seeds(seeds, output_dir, run_one, run.settings)


def print_dry_run(run, memory_gb=None):
  """Prints what `run_squad` would do; for memory_gb see `planned_devices`."""
  print("Dry run: nothing is trained, nothing is written.")
  if run.do_train:
    execution = run.job.fine_tuning_options.execution
    plan = planned_devices(run.devices, execution, memory_gb)
    for line in fine_tuning_lines(run.job, run.train_source(), plan):
      print(line, flush=True)
  if run.do_predict or run.do_eval:
    questions = len(run.questions().examples)
    steps = [(run.do_predict, "answered"), (run.do_eval, "scored")]
    done = " and ".join(name for does, name in steps if does)
    print(f"Then {questions:,} questions would be {done}.")


def _run_job(run, job):
  """The steps for one seed; gives the scores, None without do_eval."""
  if run.do_train:
    development = None
    if run.selection:
      development = DevelopmentSet(
        run.questions(), run.predict_batch_size, run.selection
      )
    job.train(run.train_source(), development)
  if not is_chief(job.strategy):
    return None  # Only the chief predicts and scores.
  if run.do_predict:
    job.predict(run.questions(), run.predict_batch_size, run.write_logits)
  return job.evaluate(run.questions()) if run.do_eval else None
