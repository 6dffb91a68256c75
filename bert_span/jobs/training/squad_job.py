"""What run_squad does, with plain arguments: train, predict, evaluate."""

import dataclasses
import os
import sys

import keras
import tensorflow as tf
import tqdm

from bert_span.answers.decoding.options import DecoderOptions
from bert_span.answers.decoding.predictions import as_original_without_span
from bert_span.answers.files import prediction_files
from bert_span.answers.files.logits_file import LogitsWriter
from bert_span.answers.files.prediction_reader import (
  read_na_probs,
  read_predictions,
)
from bert_span.answers.scoring.official_scores import official_scores
from bert_span.data.training_records import window_fingerprint
from bert_span.extractor import SpanExtractor
from bert_span.fine_tuning.fine_tuner import fine_tune_on, training_set_of
from bert_span.fine_tuning.options import FineTuningOptions
from bert_span.heads.answer_head import AnswerHead
from bert_span.heads.span import SPAN_HEAD
from bert_span.presets.encoder_source import EncoderSource
from bert_span.presets.span_config import read_span_config
from bert_span.reporting.score_table import format_bio_scores, format_scores
from bert_span.squad.reader import SquadFile
from bert_span.squad.rules import prediction_examples, training_examples
from bert_span.storage.atomic_file import (
  recover_directory,
  write_json_atomically,
)
from bert_span.storage.files import is_remote
from bert_span.storage.log import log_line
from bert_span.text.options import WindowOptions
from bert_span.training.devices.strategy import scope_of
from bert_span.training.devices.workers import (
  WorkerVote,
  is_chief,
  own_folder,
)
from bert_span.training.run.best_model import BestModel, selection_words
from bert_span.training.run.preemption import TerminationRequest
from bert_span.training.run.selection import ModelSelection

MODEL_DIRECTORY = "model"
_SCORES_FILE = "eval_results.json"
_LOGITS_FILE = "logits.npz"
_ALL_PLACES = sys.maxsize


@dataclasses.dataclass
class SquadJob:
  """A run of run_squad in one output directory.

  Attributes:
    output_dir: folder of everything that is written.
    source: `EncoderSource` of the model to start from.
    window_options: `WindowOptions`.
    decoder_options: those of the head.
    fine_tuning_options: `FineTuningOptions`.
    head_bias: whether a new span head has a bias.
    no_span: "no_answer", or "original", see `as_original_without_span`.
    verbose: name every place of a data problem.
    head: `AnswerHead`.
    disagreement_questions: questions in a B/I/O head's report on where
      annotators differ.
    strategy: tf.distribute.Strategy to train with; None for one device.
    teachers: directories or names of models for distillation.
  """

  output_dir: str
  source: EncoderSource
  window_options: WindowOptions
  decoder_options: DecoderOptions
  fine_tuning_options: FineTuningOptions
  head_bias: bool = True
  no_span: str = "no_answer"
  verbose: bool = False
  head: AnswerHead = SPAN_HEAD
  disagreement_questions: int = 20
  strategy: tf.distribute.Strategy | None = None
  teachers: tuple[str, ...] = ()

  def train(self, source, development=None):
    """Fine-tunes and writes the model to output_dir/model.

    Args:
      source: `SquadFile` to train on, or `TrainingRecords` made of one.
      development: `DevelopmentSet` by which the best model is chosen; None
        writes the model of the last step.

    Raises:
      Preempted: SIGTERM came; the run is saved.
    """
    directory = self.model_directory
    is_writer = is_chief(self.strategy)
    if is_writer and not is_remote(self.output_dir):
      recover_directory(directory)
    # Before the work on the data, so that a wrong path is reported first.
    teachers = {path: SpanExtractor.from_preset(path) for path in self.teachers}
    extractor, training_set, digest = self.training_inputs(source)
    options = self.fine_tuning_options
    termination = TerminationRequest(WorkerVote(self.strategy))
    callbacks = [termination]
    if development:
      best_model = BestModel(
        directory,
        lambda selection: extractor.save_to_preset(directory, selection),
      )
      callbacks.append(
        ModelSelection(
          development.selection_options(self.decoder_options, self.head),
          options.num_train_steps(training_set.num_examples),
          # Every worker scores, since all must stop at the same step; only
          # the chief writes.
          lambda: development.scores(extractor, termination.interruptible),
          best_model if is_writer else None,
          own_folder(self.strategy, self.output_dir),
          development.fingerprint(self.decoder_options),
        )
      )
    fine_tune_on(
      extractor,
      training_set,
      options,
      self.output_dir,
      callbacks,
      {"initial_weights_sha256": digest},
      self.strategy,
      teachers,
    )
    termination.exit_if_received()
    if not is_writer:
      return
    if not development:
      extractor.save_to_preset(directory)
    log_line(f"The model is in {directory}{selection_words(directory)}")

  def training_inputs(self, source):
    """What `train` begins with.

    Returns:
      (extractor, training_set, digest): a `SpanExtractor`, its new weights
      drawn from the seed; `LabelledWindows`; and the
      `EncoderSource.weights_digest` of the weights it came with.
    """
    # Before the model is loaded, so that bad questions are reported first.
    is_file = isinstance(source, SquadFile)
    examples = self._training_examples(source) if is_file else None
    options = self.fine_tuning_options
    keras.utils.set_random_seed(options.seed)
    with scope_of(self.strategy):
      loaded = self.source.load()
      digest = self.source.weights_digest(loaded)
      extractor, _ = self._extractor_of(loaded)
    if is_file:
      training_set = training_set_of(
        extractor, examples, options, bool(self.teachers)
      )
    else:
      fingerprint = window_fingerprint(
        extractor.preprocessor,
        self.head.labels,
        self.decoder_options.version_2_with_negative,
        options.annotator_labels,
        options.drop_answerless_windows,
      )
      training_set = source.read(fingerprint, self.head.labels)
    return extractor, training_set, digest

  def predict(self, squad_file, batch_size, write_logits=False):
    """Answers the questions of a `SquadFile`; writes the prediction files."""
    version_2 = self.decoder_options.version_2_with_negative
    examples = prediction_examples(squad_file, version_2)
    self._report(squad_file)
    extractor = self._trained_extractor()
    logits = LogitsWriter(self.head.logits) if write_logits else None
    observer = self.head.make_observer(self.disagreement_questions)
    observers = [each for each in (logits, observer) if each]
    predictions = list(
      tqdm.tqdm(
        extractor.predict(
          examples,
          batch_size,
          on_logits=lambda batch: [each.add(batch) for each in observers],
        ),
        desc="Predicting",
        total=len(examples),
        unit="question",
        disable=not sys.stderr.isatty(),
      )
    )
    if self.no_span == "original":
      predictions = as_original_without_span(predictions, version_2)
    tf.io.gfile.makedirs(self.output_dir)
    paths = self.head.write_predictions(self.output_dir, predictions, version_2)
    if observer:
      paths += observer.write(self.output_dir)
    if logits:
      paths.append(self._path(_LOGITS_FILE))
      logits.write(paths[-1], self.window_options.max_seq_length)
    num_empty = sum(not prediction.text for prediction in predictions)
    log_line(
      f"{len(predictions)} questions answered, {num_empty} of them with no "
      f"answer: {', '.join(paths)}"
    )

  def evaluate(self, squad_file):
    """Scores predictions.json; writes, prints and returns the scores."""
    predictions = read_predictions(
      self._path(prediction_files.PREDICTIONS_FILE)
    )
    null_odds = None
    if self.decoder_options.version_2_with_negative:
      null_odds = read_na_probs(self._path(prediction_files.NULL_ODDS_FILE))
    scores = official_scores(squad_file, predictions, null_odds)
    table = format_scores(scores)
    more = self.head.file_scores(self.output_dir, squad_file.examples)
    if more:
      table = f"{table}\n\n{format_bio_scores(more)}"
    scores = {**scores, **more}
    write_json_atomically(self._path(_SCORES_FILE), scores)
    print(table)
    return scores

  @property
  def model_directory(self):
    """Where the trained model is written."""
    return self._path(MODEL_DIRECTORY)

  def _path(self, name):
    return os.path.join(self.output_dir, name)

  def _training_examples(self, squad_file):
    examples = training_examples(
      squad_file,
      self.decoder_options.version_2_with_negative,
      every_annotator=self.head.labels.every_annotator,
      keep_unlabelled=bool(self.teachers),
    )
    self._report(squad_file)
    return examples

  def _report(self, squad_file):
    """Logs the problems found in the questions."""
    for line in squad_file.report.lines(_ALL_PLACES if self.verbose else 3):
      log_line(line)

  def _extractor_of(self, loaded):
    """The extractor of a `LoadedEncoder`, and whether its head is new."""
    has_head = self.head.weights_of(loaded) is not None
    with_head = f", with its {self.head.name} head" if has_head else ""
    log_line(f"Starting from {loaded.description}{with_head}.")
    extractor = SpanExtractor(
      self.head.model_of(loaded, self.head_bias),
      self.source.vocabulary(loaded),
      self.source.lower_case(loaded),
      self.window_options,
      self.decoder_options,
      fixed_length=self.fine_tuning_options.length_bucket is None,
      head=self.head,
    )
    return extractor, not has_head

  def _trained_extractor(self):
    """The model of the output directory, else a fine-tuned source."""
    directory = self.model_directory
    if tf.io.gfile.isdir(directory):
      saved = (read_span_config(directory) or {}).get("head")
      if saved not in (None, self.head.name):
        raise ValueError(
          f"{directory} has a {saved} head: give --head={saved}, or another "
          "--output_dir."
        )
      log_line(f"Predicting with {directory}{selection_words(directory)}")
      return SpanExtractor.from_preset(
        directory,
        self.window_options,
        self.decoder_options,
        self.fine_tuning_options.length_bucket is None,
        self.head,
      )
    if tf.train.latest_checkpoint(self.output_dir):
      raise ValueError(
        f"{self.output_dir} holds checkpoints of a training that has not "
        "ended. Run the same command with --do_train to finish it."
      )
    if not (self.source.preset or self.source.bert_config_file):
      raise ValueError(
        f"There is no model in {directory}. Train one with --do_train, or give "
        "a fine-tuned one as --preset or --init_checkpoint."
      )
    extractor, head_is_new = self._extractor_of(self.source.load())
    if head_is_new:
      raise ValueError(
        f"The model has no {self.head.name} head, so its answers would be "
        "random. Fine-tune it with --do_train first, or give a fine-tuned "
        "model."
      )
    return extractor
