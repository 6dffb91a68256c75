"""What run_squad does: trains, answers and scores."""

import dataclasses
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
from bert_span.presets.encoder_source import EncoderSource
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
  decoder_options: DecoderOptions  # of the extractor
  # The same with what was fitted to the model, if the run had ended before.
  fitted_options: DecoderOptions

  @property
  def version_2(self):
    """Whether questions may be unanswerable."""
    return self.decoder_options.version_2_with_negative

  def read(self, path, split):
    """Returns a `SquadFile`, or the split of the data set instead of it."""
    options, dataset = self.options, None
    if options.dataset:
      dataset = options.dataset, split, options.data_dir
    return read_file_or_tfds(path, dataset)

  def questions(self):
    """Returns the `SquadFile` to answer and to score on."""
    return self.read(self.options.predict_file, "validation")

  def log_problems(self, squad_file):
    """Logs what is wrong with a `SquadFile`."""
    most = sys.maxsize if self.options.verbose_logging else 3
    log_line(*squad_file.report.lines(most))


def run_squad(options: "RunSquadOptions", extractor_class=None):
  """Trains, answers and scores; `Preempted` if SIGTERM came.

  extractor_class is an `Extractor` instead of that of the head.
  """
  run = _run_of(options, extractor_class)
  if options.dry_run:
    _print_dry_run(run)
    return
  # First of all: TensorFlow joins workers before it has run anything.
  strategy = start_strategy(options, options) if options.do_train else None
  is_writer = is_chief(strategy)
  asks = is_writer and (options.do_predict or options.do_eval)
  # Before the training, so that a wrong path is reported first.
  questions = run.questions() if asks or options.eval_steps else None
  if options.do_train and _train(run, questions, strategy):
    run = dataclasses.replace(run, decoder_options=run.fitted_options)
  if not is_writer:
    return  # Only the chief predicts and scores.
  if options.do_predict:
    _predict(run, questions)
  if options.do_eval:
    _evaluate(run, questions)


def _run_of(options, extractor_class):
  """The `_Run` of options, which it checks and of which it logs the unused."""
  trained = saved_config(options.path(MODEL_DIRECTORY))
  saved = {}  # Of the model that predicts.
  if not options.do_train:
    saved = trained or saved_config(options.preset)
  name = None if options.is_given("head") else saved.get("head")
  if extractor_class is None:
    extractor_class = find_extractor_class(name or options.head)
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
    _decoder_options(options, extractor_class, saved),
    _decoder_options(options, extractor_class, trained),
  )


def _decoder_options(options, extractor_class, saved):
  """The options of a decoder, with what was fitted to a saved model.

  All others follow the run's options alone, as in run_squad.
  """
  options_type = extractor_class.decoder_class.options_type
  decoder, fitted = saved.get("decoder", {}), {}
  if decoder.get("temperature") is not None:
    given = options.given(options_type)
    fitted = {n: decoder[n] for n in FITTED if n in decoder and n not in given}
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
    done = " and ".join(name for does, name in steps if does)
    print(f"Then {questions:,} questions would be {done}.")


def _train(run, questions, strategy):
  """Trains and saves the model; returns whether it was trained before."""
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
    # A model that is saved again loses what was fitted to it.
    is_trained = not num_steps and (
      bool(selection) or _has_head_of(extractor, directory)
    )
    if is_writer and not is_trained and not selection:
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
  is_cut = extractor.preprocessor.is_cut([e.question for e in examples]).numpy()
  cut = [e.place for e, cut in zip(examples, is_cut, strict=True) if cut]
  if cut:
    name, num_more = f"of {cut[0]}", len(cut) - 1
    log_line(cut_question_line(extractor.window_options, name, num_more))
  observer = None
  if "tag_logits" in extractor.logits:
    observer = AgreementReport(options.disagreement_questions)
  readers = [reader for reader in (logits, observer) if reader]
  arguments = examples, options.predict_batch_size
  if readers:  # They need the logits, which answers do without.
    found = _observed_predictions(extractor, *arguments, readers)
  else:
    found = extractor.predictions(*arguments)
  bar = tqdm.tqdm(
    found, "Predicting", len(examples), unit="question", disable=None
  )
  predictions = list(bar)
  others = observer.files() if observer else {}
  if logits:
    others[_LOGITS_FILE] = logits.content(options.max_seq_length)
  prediction_files.write_predictions(
    options.output_dir,
    extractor.columns,
    predictions,
    run.version_2,
    options.no_span,
    others,
  )


def _observed_predictions(extractor, examples, batch_size, readers):
  """Yields predictions; each reader gets the logits that they come from."""
  for batch in extractor.window_logits(examples, batch_size):
    for reader in readers:
      reader.add(batch)
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
  more = {}
  if run.extractor_class.columns.entries == "spans":
    more = _scores_of_spans(options, squad_file)
  write_json_atomically(options.path(_SCORES_FILE), {**scores, **more})
  print(format_scores(scores))
  if more:
    print(f"\n{format_bio_scores(more)}")


def _scores_of_spans(options, squad_file):
  """Scores of sets of spans, and how the tags agree with the annotators."""
  path = options.path(SPANS_FILE)
  spans = prediction_files.read_span_predictions(path)
  scores = evaluate_multi_span(squad_file.examples, spans)
  path = options.path(AGREEMENT_FILE)
  # Predictions of another program have no such file.
  return scores | (read_json_object(path) if tf.io.gfile.exists(path) else {})


def _extractor_of(run, loaded, needs_head=False):
  """The extractor of a `LoadedPreset`, with a new head unless it has one."""
  options, head_name = run.options, run.extractor_class.head_name
  has_head = trained_head_weights(run.extractor_class, loaded) is not None
  with_head = f", with its {head_name} head" if has_head else ""
  log_line(f"Starting from {loaded.description}{with_head}.")
  if needs_head and not has_head:
    raise ValueError(
      f"The model has no {head_name} head, so its answers would be "
      "random. Fine-tune it with do_train first, or give a fine-tuned model."
    )
  return make_extractor(
    run.extractor_class,
    loaded,
    vocabulary=loaded.vocabulary(options.vocab_file),
    lower_case=EncoderSource.of(options).lower_case(loaded),
    window_options=WindowOptions.of(options),
    decoder_options=run.decoder_options,
    fixed_length=options.length_bucket is None,
    head_bias=options.span_head_bias,
  )


def _trained_extractor(run):
  """The model of the output directory, else a fine-tuned source."""
  options, head_name = run.options, run.extractor_class.head_name
  directory = options.path(MODEL_DIRECTORY)
  if tf.io.gfile.isdir(directory):
    saved = (read_span_config(directory) or {}).get("head")
    if saved not in (None, head_name):
      raise ValueError(
        f"{directory} has a {saved} head: give head={saved}, or another "
        "output_dir."
      )
    log_line(f"Predicting with {directory}{selection_words(directory)}")
    return run.extractor_class.from_preset(
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
