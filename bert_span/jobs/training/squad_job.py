"""What run_squad does, with plain arguments: train, predict, evaluate."""

import dataclasses
import os
import sys

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
from bert_span.fine_tuning.fine_tuner import (
  fine_tune_on,
  seed_everything,
  training_set_of,
)
from bert_span.fine_tuning.options import FineTuningOptions
from bert_span.heads.answer_head import AnswerHead
from bert_span.heads.span import SPAN_HEAD
from bert_span.jobs.training.squad_models import SquadModels
from bert_span.presets.encoder_source import EncoderSource
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
from bert_span.training.devices.strategy import (
  is_chief,
  own_folder,
  scope_of,
)
from bert_span.training.devices.worker_agreement import WorkerVote
from bert_span.training.run.best_model import BestModel, selection_words
from bert_span.training.run.preemption import TerminationRequest
from bert_span.training.run.selection import ModelSelection

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
    teachers: model directories, or names of models, to learn from, too.
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
      development: `DevelopmentSet`: its best model is the one that is written;
        None writes that of the last step.

    Raises:
      Preempted: SIGTERM came; the run is saved.
    """
    keeps = is_chief(self.strategy)
    if keeps and not is_remote(self.output_dir):
      recover_directory(self._model_directory)
    # Before the work on the data, so that a wrong path is reported first.
    teachers = {path: SpanExtractor.from_preset(path) for path in self.teachers}
    extractor, training_set, digest = self.training_inputs(source)
    options = self.fine_tuning_options
    termination = TerminationRequest(WorkerVote(self.strategy))
    callbacks = [termination]
    if development:
      num_steps = options.num_train_steps(training_set.num_examples)
      callbacks.append(
        self._selection(extractor, development, num_steps, termination)
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
    if not keeps:
      return
    if not development:
      extractor.save_to_preset(self._model_directory)
    log_line(
      f"The model stands in {self._model_directory}"
      f"{selection_words(self._model_directory)}"
    )

  def training_inputs(self, source):
    """What `train` begins with.

    Args:
      source: see `train`.

    Returns:
      (extractor, training_set, digest): a `SpanExtractor` to train, its new
      weights drawn from the seed; `LabelledWindows`; and of the weights it came
      with what `EncoderSource.weights_digest` gives.
    """
    # Before the model is loaded, so that bad questions are reported first.
    is_file = isinstance(source, SquadFile)
    examples = self._examples(source) if is_file else None
    seed_everything(self.fine_tuning_options.seed)
    with scope_of(self.strategy):
      extractor, digest = self._models.to_train()
    if is_file:
      options = self.fine_tuning_options
      training_set = training_set_of(
        extractor, examples, options, bool(self.teachers)
      )
    else:
      training_set = source.read(
        self._window_fingerprint(extractor), self.head.labels
      )
    return extractor, training_set, digest

  def predict(self, squad_file, batch_size, write_logits=False):
    """Answers questions and writes the prediction files.

    Args:
      squad_file: `SquadFile` with the questions.
      batch_size: windows the model reads at once.
      write_logits: also write logits.npz.
    """
    version_2 = self.decoder_options.version_2_with_negative
    examples = prediction_examples(squad_file, version_2)
    self._report(squad_file)
    extractor = self._models.trained()
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
      paths.append(tf.io.gfile.join(self.output_dir, _LOGITS_FILE))
      logits.write(paths[-1], self.window_options.max_seq_length)
    num_empty = sum(not prediction.text for prediction in predictions)
    log_line(
      f"{len(predictions)} questions answered, {num_empty} of them with no "
      f"answer: {', '.join(paths)}"
    )

  def evaluate(self, squad_file):
    """Scores predictions.json; writes and prints eval_results.json.

    Args:
      squad_file: `SquadFile` with the questions and their answers.

    Returns:
      Dict of the official scores.
    """
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

  def _examples(self, squad_file):
    """The questions to train on; reports what was noticed about them."""
    examples = training_examples(
      squad_file,
      self.decoder_options.version_2_with_negative,
      every_annotator=self.head.labels.every_annotator,
      keep_unlabelled=bool(self.teachers),
    )
    self._report(squad_file)
    return examples

  def _window_fingerprint(self, extractor):
    return window_fingerprint(
      extractor.preprocessor,
      self.head.labels,
      self.decoder_options.version_2_with_negative,
      self.fine_tuning_options.annotator_labels,
      self.fine_tuning_options.drop_answerless_windows,
    )

  @property
  def _models(self):
    return SquadModels(
      self.output_dir,
      self.source,
      self.window_options,
      self.decoder_options,
      self.head,
      self.head_bias,
      self.fine_tuning_options.length_bucket is None,
    )

  @property
  def _model_directory(self):
    return self._models.directory

  def _path(self, name):
    return os.path.join(self.output_dir, name)

  def _report(self, squad_file):
    for line in squad_file.report.lines(_ALL_PLACES if self.verbose else 3):
      log_line(line)

  def _selection(self, extractor, development, num_steps, termination):
    """What scores the model during training and keeps the best."""

    def write(selection):
      extractor.save_to_preset(self._model_directory, selection)

    # Every worker scores, since all must stop at the same step; one writes.
    keeps = is_chief(self.strategy)
    return ModelSelection(
      development.selection_options(self.decoder_options, self.head),
      num_steps,
      lambda: development.scores(extractor, termination.interruptible),
      BestModel(self._model_directory, write) if keeps else None,
      own_folder(self.strategy, self.output_dir),
      development.fingerprint(self.decoder_options),
    )
