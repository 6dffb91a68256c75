"""What run_squad does: trains, answers and scores."""

import dataclasses
import shlex
import sys
import typing

import keras
import numpy as np
import tensorflow as tf
import tqdm

from bert_span.answers import prediction_files
from bert_span.answers.decoding.options import FITTED, DecoderOptions
from bert_span.answers.options import (
  AGREEMENT_FILE,
  NULL_ODDS_FILE,
  PREDICTIONS_FILE,
  SPANS_FILE,
)
from bert_span.answers.window_logits import LogitsWriter
from bert_span.data.preprocessor import cut_question_line
from bert_span.extractors.extractor import Extractor
from bert_span.extractors.loading import (
  check_no_span,
  options_of_other_heads,
  saved_config,
)
from bert_span.extractors.preset_loader import (
  find_extractor_class,
  make_extractor,
  trained_head_weights,
)
from bert_span.jobs.dry_run import fine_tuning_lines
from bert_span.modeling.heads import weights_by_name
from bert_span.options.fields import flagfile_text
from bert_span.presets.directory_weights import read_heads
from bert_span.presets.encoder_source import EncoderSource
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
from bert_span.training.development_set import (
  DevelopmentSet,
  selection_metrics,
)
from bert_span.training.fine_tuner import label_training_windows, train_on
from bert_span.training.run_folder import RunFlags, locked_folder
from bert_span.training.selection import ModelSelection
from bert_span.training.strategy import (
  is_chief,
  scope_of,
  start_strategy,
  worker_vote,
)

if typing.TYPE_CHECKING:
  from bert_span.run_squad import RunSquadOptions

MODEL_DIRECTORY = "model"
_SCORES_FILE = "eval_results.json"
_LOGITS_FILE = "logits.npz"


@dataclasses.dataclass(frozen=True)
class _Run:
  """The options of a run, and what follows from its model."""

  options: "RunSquadOptions"
  extractor_class: type[Extractor]
  decoder_options: DecoderOptions
  # The same with the calibration of the model in output_dir, which is used if
  # the training had been completed before.
  calibrated_options: DecoderOptions

  @property
  def version_2(self):
    """Whether questions may be unanswerable."""
    return self.decoder_options.version_2_with_negative

  def read(self, path, split):
    """Returns the `SquadFile` of a path, or of a split of the data set."""
    options, dataset = self.options, None
    if options.dataset:
      dataset = options.dataset, split, options.data_dir
    return read_file_or_tfds(path, dataset)

  def questions(self):
    """Returns the `SquadFile` to answer and to score on."""
    return self.read(self.options.predict_file, "validation")

  def log_problems(self, squad_file):
    """Logs what is wrong with a `SquadFile`."""
    num_places = sys.maxsize if self.options.verbose_logging else 3
    log_line(*squad_file.report.lines(num_places))


def run_squad(options: "RunSquadOptions", extractor_class=None):
  """Trains, answers and scores, as the options ask.

  Args:
    options: the options of the program.
    extractor_class: a subclass of `Extractor`; by default that of the head.

  Raises:
    ValueError: an option does not fit the data or the model.
    Preempted: SIGTERM was received; the same run can continue.
  """
  run = _run_of(options, extractor_class)
  if options.dry_run:
    _print_dry_run(run)
    return
  # First, as TensorFlow joins workers only before its first operation.
  strategy = start_strategy(options, options) if options.do_train else None
  is_writer = is_chief(strategy)
  needs_questions = is_writer and (options.do_predict or options.do_eval)
  # Before the training, so that a wrong path is reported first.
  is_read = needs_questions or options.eval_steps
  questions = run.questions() if is_read else None
  if options.do_train and _train(run, questions, strategy):
    run = dataclasses.replace(run, decoder_options=run.calibrated_options)
  if not is_writer:
    return  # Only the chief predicts and scores.
  if options.do_predict:
    _predict(run, questions)
  if options.do_eval:
    _evaluate(run, questions)


def _run_of(options, extractor_class):
  """Checks options, logs those without effect, and returns their `_Run`."""
  output_config = saved_config(options.path(MODEL_DIRECTORY))
  config = {}  # of the model that predicts; {} if it is trained first
  if not options.do_train:
    config = output_config or saved_config(options.preset)
  if extractor_class is None:
    saved_head = None if options.is_given("head") else config.get("head")
    extractor_class = find_extractor_class(saved_head or options.head)
  check_no_span(options, extractor_class)
  unused = {
    name: f"without head={head}"
    for name, head in options_of_other_heads(options, extractor_class).items()
  }
  if not options.version_2_with_negative:
    unused["null_score_diff_threshold"] = "without version_2_with_negative"
  options.log_unused(**unused)
  metrics = selection_metrics(extractor_class.columns)
  if options.eval_steps and options.best_metric not in metrics:
    raise ValueError(
      f"best_metric={options.best_metric} is not a metric of a "
      f"{extractor_class.head_name} head: choose one of {', '.join(metrics)}."
    )
  return _Run(
    options,
    extractor_class,
    _calibrated_options(options, extractor_class, config),
    _calibrated_options(options, extractor_class, output_config),
  )


def _calibrated_options(options, extractor_class, config):
  """Returns a run's decoder options, with what was fitted to a saved model.

  As in run_squad, nothing else is taken from the model.
  """
  options_type = extractor_class.decoder_class.options_type
  saved, fitted = config.get("decoder", {}), {}
  if saved.get("temperature") is not None:
    given_names = options.given(options_type)
    fitted = {
      name: saved[name]
      for name in FITTED
      if name in saved and name not in given_names
    }
  return options_type.of(options, **fitted)


def _print_dry_run(run):
  """Prints what `run_squad` would do."""
  options = run.options
  print("Dry run: nothing is trained, nothing is written.")
  if options.do_train:
    extractor, training_set, _ = _training_inputs(run)
    for line in fine_tuning_lines(extractor, training_set, options):
      print(line, flush=True)
  if options.do_predict or options.do_eval:
    questions = len(run.questions().examples)
    steps = [(options.do_predict, "answered"), (options.do_eval, "scored")]
    verbs = " and ".join(verb for is_asked, verb in steps if is_asked)
    print(f"Then {questions:,} questions would be {verbs}.")


def _train(run, questions, strategy):
  """Trains and saves the model; returns whether it had been trained before."""
  options = run.options
  # Before the work on the data, so that a wrong path is reported first.
  teachers = {
    path: Extractor.from_preset(path, verify=options.verify)
    for path in options.teacher
  }
  extractor, training_set, digest = _training_inputs(run, strategy)
  directory, selection = options.path(MODEL_DIRECTORY), options.selection()
  termination = TerminationRequest(worker_vote(strategy))
  callbacks, is_writer = [termination], is_chief(strategy)
  if selection:
    dev_set = DevelopmentSet(questions, options.predict_batch_size, selection)
    callbacks.append(
      ModelSelection(
        dev_set.selection_options(run.decoder_options, run.extractor_class),
        options.num_train_steps(training_set.num_examples),
        lambda: dev_set.scores(extractor, termination.interruptible),
        options.output_dir,
        directory,
        lambda selection: extractor.save_to_preset(directory, selection),
        dev_set.fingerprint(run.decoder_options),
        strategy,
      )
    )
  if is_writer:
    callbacks.append(RunFlags(options.output_dir, flagfile_text(options)))
  with locked_folder(options.output_dir, strategy, [MODEL_DIRECTORY]):
    num_steps = train_on(
      extractor,
      training_set,
      options,
      options.output_dir,
      callbacks=callbacks,
      fingerprint={"initial_weights_sha256": digest},
      strategy=strategy,
      teachers=teachers,
    )
    # Saving a model again would remove its calibration.
    was_trained = not num_steps and (
      bool(selection) or _has_head_of(extractor, directory)
    )
    if is_writer and not was_trained and not selection:
      extractor.save_to_preset(directory)
  if is_writer:
    log_line(f"The model is in {directory}{selection_words(directory)}")
  return was_trained


def _has_head_of(extractor, directory):
  """Whether the head in a local directory equals that of an extractor."""
  if is_remote(directory) or read_span_config(directory) is None:
    return False
  saved = read_heads(directory).get(extractor.head.name, {})
  return all(
    np.array_equal(weight, saved.get(name))
    for name, weight in weights_by_name(extractor.head).items()
  )


def _training_inputs(run, strategy=None):
  """Returns an extractor, its `LabelledWindows` and its `weights_digest`."""
  options, source = run.options, EncoderSource.of(run.options)
  # Before the model is loaded, so that bad questions are reported first.
  squad_file = run.read(options.train_file, "train")
  examples = training_examples(
    squad_file,
    run.version_2,
    every_annotator=run.extractor_class.preprocessor_class.every_annotator,
    keep_unlabelled=bool(options.teacher),
  )
  run.log_problems(squad_file)
  keras.utils.set_random_seed(options.seed)
  with scope_of(strategy):
    loaded = source.load()
    digest = source.weights_digest(loaded)
    extractor = _extractor_of(run, loaded)
  training_set = label_training_windows(
    extractor, examples, options, bool(options.teacher)
  )
  return extractor, training_set, digest


def _predict(run, squad_file):
  options = run.options
  examples = prediction_examples(squad_file, run.version_2)
  run.log_problems(squad_file)
  extractor = _trained_extractor(run)
  logits = LogitsWriter(extractor.logits) if options.write_logits else None
  are_cut = extractor.preprocessor.is_cut([e.question for e in examples])
  rows = zip(examples, are_cut.numpy(), strict=True)
  cut_places = [example.place for example, is_cut in rows if is_cut]
  if cut_places:
    name, num_more = f"of {cut_places[0]}", len(cut_places) - 1
    log_line(cut_question_line(extractor.window_options, name, num_more))
  agreement = None
  if "tag_logits" in extractor.logits:
    agreement = AgreementReport(options.disagreement_questions)
  observers = [observer for observer in (logits, agreement) if observer]
  batch_size = options.predict_batch_size
  if observers:  # Only they need the logits.
    predictions = _observed_predictions(
      extractor, examples, batch_size, observers
    )
  else:
    predictions = extractor.predictions(examples, batch_size)
  predictions = list(
    tqdm.tqdm(
      predictions, "Predicting", len(examples), unit="question", disable=None
    )
  )
  other_files = agreement.files() if agreement else {}
  if logits:
    other_files[_LOGITS_FILE] = logits.content(options.max_seq_length)
  prediction_files.write_predictions(
    options.output_dir,
    extractor.columns,
    predictions,
    run.version_2,
    options.no_span,
    other_files,
  )
  can_score = not any(example.is_unlabelled for example in examples)
  if can_score and options.predict_file and not options.do_eval:
    log_line(f"To score them: {_scoring_command(run, squad_file)}")


def _scoring_command(run, squad_file):
  """Returns the command that scores the predictions as do_eval does."""
  options = run.options
  words = ["python", "-m", "bert_span.evaluate"]
  words.append(f"--predict_file={options.predict_file}")
  if run.extractor_class.columns.entries == "spans":
    path = options.path(SPANS_FILE)
    return shlex.join([*words, "--multi_span", f"--predictions_file={path}"])
  words.append(f"--predictions_file={options.path(PREDICTIONS_FILE)}")
  if run.version_2 and squad_file.version_2:
    words.append(f"--na_prob_file={options.path(NULL_ODDS_FILE)}")
    threshold = run.decoder_options.null_score_diff_threshold
    words.append(f"--na_prob_thresh={threshold}")
  return shlex.join(words)


def _observed_predictions(extractor, examples, batch_size, observers):
  """Yields predictions; the observers get the logits that they come from."""
  for batch in extractor.window_logits(examples, batch_size):
    for observer in observers:
      observer.add(batch)
    yield from extractor.decode(batch)


def _evaluate(run, squad_file):
  """Scores predictions.json; writes and prints the scores."""
  options = run.options
  path, null_odds = options.path(PREDICTIONS_FILE), None
  predictions = prediction_files.read_predictions(path)
  if run.version_2:
    path = options.path(NULL_ODDS_FILE)
    null_odds = prediction_files.read_na_probs(path)
  scores = official_scores(squad_file, predictions, null_odds)
  span_scores = {}
  if run.extractor_class.columns.entries == "spans":
    span_scores = _scores_of_spans(options, squad_file)
  write_json_atomically(options.path(_SCORES_FILE), {**scores, **span_scores})
  print(format_scores(scores))
  if span_scores:
    print(f"\n{format_bio_scores(span_scores)}")


def _scores_of_spans(options, squad_file):
  """Returns scores of sets of spans, and of the tags against the annotators."""
  path = options.path(SPANS_FILE)
  spans = prediction_files.read_span_predictions(path)
  scores = evaluate_multi_span(squad_file.examples, spans)
  path = options.path(AGREEMENT_FILE)
  # Predictions of another program have no such file.
  return scores | (read_json_object(path) if tf.io.gfile.exists(path) else {})


def _extractor_of(run, loaded, needs_head=False):
  """Returns the extractor of a `LoadedPreset`, with its head or a new one."""
  options, extractor_class = run.options, run.extractor_class
  head_name = extractor_class.head_name
  has_head = trained_head_weights(extractor_class, loaded) is not None
  with_head = f", with its {head_name} head" if has_head else ""
  log_line(f"Starting from {loaded.description}{with_head}.")
  if needs_head and not has_head:
    raise ValueError(
      f"The model has no {head_name} head, so its answers would be random. "
      "Fine-tune it with do_train first, or give a fine-tuned model."
    )
  return make_extractor(
    extractor_class,
    loaded,
    vocabulary=loaded.vocabulary(options.vocab_file),
    lower_case=EncoderSource.of(options).lower_case(loaded),
    window_options=WindowOptions.of(options),
    decoder_options=run.decoder_options,
    fixed_length=options.length_bucket is None,
    head_bias=options.span_head_bias,
  )


def _trained_extractor(run):
  """Returns the model in output_dir, or else the one that the options name."""
  options, extractor_class = run.options, run.extractor_class
  directory = options.path(MODEL_DIRECTORY)
  if tf.io.gfile.isdir(directory):
    saved_head = (read_span_config(directory) or {}).get("head")
    if saved_head not in (None, extractor_class.head_name):
      raise ValueError(
        f"{directory} has a {saved_head} head: give head={saved_head}, or "
        "another output_dir."
      )
    log_line(f"Predicting with {directory}{selection_words(directory)}")
    return extractor_class.from_preset(
      directory,
      WindowOptions.of(options),
      run.decoder_options,
      fixed_length=options.length_bucket is None,
      verify=options.verify,
    )
  if checkpoint_names(options.output_dir):
    raise ValueError(
      f"{options.output_dir} holds checkpoints of a training that has not "
      "ended. Run the same command with do_train to finish it."
    )
  if not (options.preset or options.bert_config_file):
    raise ValueError(
      f"There is no model in {directory}. Train one with do_train, or give "
      "a fine-tuned one as `preset` or init_checkpoint."
    )
  loaded = EncoderSource.of(options).load()
  return _extractor_of(run, loaded, needs_head=True)
