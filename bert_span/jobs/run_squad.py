"""What run_squad does: trains, answers and scores."""

import dataclasses
import sys

import keras
import numpy as np
import tensorflow as tf
import tqdm

from bert_span.answers import prediction_files
from bert_span.answers.decoding.options import DecoderOptions
from bert_span.answers.window_logits import LogitsWriter
from bert_span.data.preprocessor import cut_line
from bert_span.extractors.extractor import Extractor
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.jobs.dry_run import fine_tuning_lines
from bert_span.jobs.options import RunOptions, SquadRunOptions
from bert_span.modeling.heads import weights_by_name
from bert_span.presets.model_directory import read_heads
from bert_span.presets.selection import selection_words
from bert_span.presets.span_config import read_span_config
from bert_span.reporting.score_table import format_bio_scores, format_scores
from bert_span.scoring.annotator_agreement import AgreementReport
from bert_span.scoring.squad_scores import evaluate_multi_span, official_scores
from bert_span.squad.rules import prediction_examples, training_examples
from bert_span.squad.tfds import read_file_or_tfds
from bert_span.storage.atomic_file import write_json_atomically
from bert_span.storage.files import is_remote, read_json_object
from bert_span.storage.log import log_line
from bert_span.text.options import WindowOptions
from bert_span.training.callbacks import TerminationRequest
from bert_span.training.checkpoints import checkpoint_names
from bert_span.training.development_set import DevelopmentSet
from bert_span.training.fine_tuner import train_on, training_set_of
from bert_span.training.fine_tuning_options import FineTuningOptions
from bert_span.training.run_folder import RunFlags, locked_folder
from bert_span.training.selection import ModelSelection
from bert_span.training.strategy import (
  is_chief,
  scope_of,
  start_strategy,
  worker_vote,
)

MODEL_DIRECTORY = "model"
_SCORES_FILE = "eval_results.json"
_LOGITS_FILE = "logits.npz"


@dataclasses.dataclass(frozen=True, kw_only=True)
class SquadRun(SquadRunOptions, RunOptions):
  """The steps of a run, in this order, and their inputs."""

  window_options: WindowOptions
  decoder_options: DecoderOptions  # those of the extractor
  # The same with what was fitted to the model, if the run had ended before.
  fitted_options: DecoderOptions | None = None
  fine_tuning_options: FineTuningOptions
  extractor_class: type[Extractor] = SpanExtractor
  train_file: str | None = None  # SQuAD file; None for `train_dataset`
  train_dataset: tuple | None = None  # (TFDS name, split, data_dir)
  predict_file: str | None = None  # questions; None for `predict_dataset`
  predict_dataset: tuple | None = None
  predict_batch_size: int = 8  # windows the model reads at once
  no_span: str = "no_answer"  # or "original", see `as_original_without_span`

  @property
  def version_2(self):
    """Whether questions may be unanswerable."""
    return self.decoder_options.version_2_with_negative

  def questions(self):
    """The `SquadFile` to answer and to score on."""
    return read_file_or_tfds(self.predict_file, self.predict_dataset)

  def log_problems(self, squad_file):
    """Logs what is wrong with a `SquadFile`."""
    log_line(*squad_file.report.lines(sys.maxsize if self.verbose else 3))


def run_squad(run):
  """Does the steps of a `SquadRun`; `Preempted` if SIGTERM came."""
  options = run.fine_tuning_options
  # First of all: TensorFlow joins workers before it has run anything.
  strategy = start_strategy(run.devices, options) if run.do_train else None
  is_writer = is_chief(strategy)
  asks = is_writer and (run.do_predict or run.do_eval)
  # Before the training, so that a wrong path is reported first.
  questions = run.questions() if asks or run.selection else None
  if run.do_train and _train(run, questions, strategy):
    decoder_options = run.fitted_options or run.decoder_options
    run = dataclasses.replace(run, decoder_options=decoder_options)
  if not is_writer:
    return  # Only the chief predicts and scores.
  if run.do_predict:
    _predict(run, questions)
  if run.do_eval:
    _evaluate(run, questions)


def print_dry_run(run):
  """Prints what `run_squad` would do."""
  print("Dry run: nothing is trained, nothing is written.")
  if run.do_train:
    extractor, training_set, _ = _training_inputs(run)
    for line in fine_tuning_lines(extractor, training_set, run):
      print(line, flush=True)
  if run.do_predict or run.do_eval:
    questions = len(run.questions().examples)
    steps = [(run.do_predict, "answered"), (run.do_eval, "scored")]
    done = " and ".join(name for does, name in steps if does)
    print(f"Then {questions:,} questions would be {done}.")


def _train(run, questions, strategy):
  """Trains and saves the model; returns whether it was trained before."""
  # Before the work on the data, so that a wrong path is reported first.
  teachers = {
    path: Extractor.from_preset(path, verify=run.source.verify)
    for path in run.teachers
  }
  extractor, training_set, digest = _training_inputs(run, strategy)
  directory, options = run.path(MODEL_DIRECTORY), run.fine_tuning_options
  termination = TerminationRequest(worker_vote(strategy))
  callbacks, is_writer = [termination], is_chief(strategy)
  if run.selection:
    dev_set = DevelopmentSet(questions, run.predict_batch_size, run.selection)
    callbacks.append(
      ModelSelection(
        dev_set.selection_options(run.decoder_options, run.extractor_class),
        options.num_train_steps(training_set.num_examples),
        lambda: dev_set.scores(extractor, termination.interruptible),
        run.output_dir,
        directory,
        lambda selection: extractor.save_to_preset(directory, selection),
        dev_set.fingerprint(run.decoder_options),
        strategy,
      )
    )
  if is_writer:
    callbacks.append(RunFlags(run.output_dir, run.run_flags))
  with locked_folder(run.output_dir, strategy, [MODEL_DIRECTORY]):
    num_steps = train_on(
      extractor,
      training_set,
      options,
      run.output_dir,
      callbacks=callbacks,
      fingerprint={"initial_weights_sha256": digest},
      strategy=strategy,
      teachers=teachers,
    )
    # A model that is saved again loses what was fitted to it.
    is_trained = not num_steps and (
      bool(run.selection) or _has_head_of(extractor, directory)
    )
    if is_writer and not is_trained and not run.selection:
      extractor.save_to_preset(directory)
  if is_writer:
    log_line(f"The model is in {directory}{selection_words(directory)}")
  return is_trained


def _has_head_of(extractor, directory):
  """Whether a local directory has the very head of an extractor."""
  if is_remote(directory) or read_span_config(directory) is None:
    return False
  saved = read_heads(directory).get(extractor.head.name, {})
  return all(
    np.array_equal(weight, saved.get(name))
    for name, weight in weights_by_name(extractor.head).items()
  )


def _training_inputs(run, strategy=None):
  """(`SpanExtractor`, `LabelledWindows`, `EncoderSource.weights_digest`)."""
  options = run.fine_tuning_options
  # Before the model is loaded, so that bad questions are reported first.
  squad_file = read_file_or_tfds(run.train_file, run.train_dataset)
  examples = training_examples(
    squad_file,
    run.version_2,
    every_annotator=run.extractor_class.preprocessor_class.every_annotator,
    keep_unlabelled=bool(run.teachers),
  )
  run.log_problems(squad_file)
  keras.utils.set_random_seed(options.seed)
  with scope_of(strategy):
    loaded = run.source.load()
    digest = run.source.weights_digest(loaded)
    extractor = _extractor_of(run, loaded)
  training_set = training_set_of(
    extractor, examples, options, bool(run.teachers)
  )
  return extractor, training_set, digest


def _predict(run, squad_file):
  examples = prediction_examples(squad_file, run.version_2)
  run.log_problems(squad_file)
  extractor = _trained_extractor(run)
  logits = LogitsWriter(extractor.logits) if run.write_logits else None
  is_cut = extractor.preprocessor.is_cut([e.question for e in examples]).numpy()
  cut = [e.place for e, cut in zip(examples, is_cut, strict=True) if cut]
  if cut:
    name, num_more = f"of {cut[0]}", len(cut) - 1
    log_line(cut_line(extractor.window_options, name, num_more))
  observer = None
  if "tag_logits" in extractor.logits:
    observer = AgreementReport(run.disagreement_questions)
  predictions = []
  with tqdm.tqdm(
    desc="Predicting", unit="question", total=len(examples), disable=None
  ) as bar:
    for batch in extractor.window_logits(examples, run.predict_batch_size):
      predictions += extractor.decode(batch)
      for each in filter(None, (logits, observer)):
        each.add(batch)
      bar.update(len(batch.examples))
  others = observer.files() if observer else {}
  if logits:
    others[_LOGITS_FILE] = logits.content(run.window_options.max_seq_length)
  prediction_files.write_predictions(
    run.output_dir,
    extractor.columns,
    predictions,
    run.version_2,
    run.no_span,
    others,
  )


def _evaluate(run, squad_file):
  """Scores predictions.json; writes and prints the scores."""
  path, null_odds = run.path(prediction_files.PREDICTIONS_FILE), None
  predictions = prediction_files.read_predictions(path)
  if run.version_2:
    path = run.path(prediction_files.NULL_ODDS_FILE)
    null_odds = prediction_files.read_na_probs(path)
  scores = official_scores(squad_file, predictions, null_odds)
  more = {}
  if run.extractor_class.columns.entries == "spans":
    more = _scores_of_spans(run, squad_file)
  write_json_atomically(run.path(_SCORES_FILE), {**scores, **more})
  print(format_scores(scores))
  if more:
    print(f"\n{format_bio_scores(more)}")


def _scores_of_spans(run, squad_file):
  """Scores of sets of spans, and how the tags agree with the annotators."""
  path = run.path(prediction_files.SPANS_FILE)
  spans = prediction_files.read_span_predictions(path)
  scores = evaluate_multi_span(squad_file.examples, spans)
  path = run.path(prediction_files.AGREEMENT_FILE)
  # Predictions of another program have no such file.
  return scores | (read_json_object(path) if tf.io.gfile.exists(path) else {})


def _extractor_of(run, loaded, needs_head=False):
  """The extractor of a `LoadedPreset`, with a new head unless it has one."""
  kind = run.extractor_class
  has_head = kind.head_tensors(loaded) is not None
  with_head = f", with its {kind.head_name} head" if has_head else ""
  log_line(f"Starting from {loaded.description}{with_head}.")
  if needs_head and not has_head:
    raise ValueError(
      f"The model has no {kind.head_name} head, so its answers would be "
      "random. Fine-tune it with --do_train first, or give a fine-tuned model."
    )
  return kind.from_loaded(
    loaded,
    loaded.vocabulary(run.source.vocab_file),
    run.source.lower_case(loaded),
    run.window_options,
    run.decoder_options,
    fixed_length=run.fine_tuning_options.length_bucket is None,
    head_bias=run.head_bias,
  )


def _trained_extractor(run):
  """The model of the output directory, else a fine-tuned source."""
  directory, kind = run.path(MODEL_DIRECTORY), run.extractor_class
  if tf.io.gfile.isdir(directory):
    saved = (read_span_config(directory) or {}).get("head")
    if saved not in (None, kind.head_name):
      raise ValueError(
        f"{directory} has a {saved} head: give --head={saved}, or another "
        "--output_dir."
      )
    log_line(f"Predicting with {directory}{selection_words(directory)}")
    return kind.from_preset(
      directory,
      run.window_options,
      run.decoder_options,
      fixed_length=run.fine_tuning_options.length_bucket is None,
      verify=run.source.verify,
    )
  if checkpoint_names(run.output_dir):
    raise ValueError(
      f"{run.output_dir} holds checkpoints of a training that has not ended. "
      "Run the same command with --do_train to finish it."
    )
  if not (run.source.preset or run.source.bert_config_file):
    raise ValueError(
      f"There is no model in {directory}. Train one with --do_train, or give "
      "a fine-tuned one as --preset or --init_checkpoint."
    )
  return _extractor_of(run, run.source.load(), needs_head=True)
