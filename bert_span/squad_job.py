"""What run_squad does, with plain arguments: train, predict, evaluate."""

import dataclasses
import math
import os
import sys

import tensorflow as tf
import tqdm

from bert_span import heads, tag_job
from bert_span.answers import prediction_files, tag_prediction_files
from bert_span.answers.decoder import DecoderOptions
from bert_span.answers.logits_file import LogitsWriter
from bert_span.answers.original_no_span import as_original_without_span
from bert_span.answers.prediction_reader import read_na_probs, read_predictions
from bert_span.answers.score_table import format_scores, format_tag_scores
from bert_span.answers.squad1_metrics import evaluate_squad1
from bert_span.answers.squad2_metrics import evaluate_squad2
from bert_span.data.atomic_file import (
  write_json_atomically,
  write_text_atomically,
)
from bert_span.data.squad_reader import read_squad
from bert_span.data.squad_rules import prediction_examples, training_examples
from bert_span.data.tfds_reader import read_tfds
from bert_span.extractor import SpanExtractor
from bert_span.fine_tuning import (
  FineTuningOptions,
  fine_tune,
  seed_everything,
)
from bert_span.model_source import EncoderSource
from bert_span.span_config import read_span_config
from bert_span.text.windows import WindowOptions
from bert_span.training.progress import log_line
from bert_span.training.strategy import is_chief, scope_of

MODEL_DIRECTORY = "model"
_FLAGS_FILE = "run.flags"
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
    decoder_options: `DecoderOptions`, or `TagDecoderOptions` for "bio".
    fine_tuning_options: `FineTuningOptions`.
    head_bias: whether a new span head has a bias.
    no_span: "no_answer", or "original", see `as_original_without_span`.
    verbose: name every place of a data problem.
    head: "span", or "bio" for answers of several spans.
    disagreement_questions: of a B/I/O head, questions in the report on where
      annotators differ.
    strategy: tf.distribute.Strategy to train with; None for one device.
  """

  output_dir: str
  source: EncoderSource
  window_options: WindowOptions
  decoder_options: DecoderOptions
  fine_tuning_options: FineTuningOptions
  head_bias: bool = True
  no_span: str = "no_answer"
  verbose: bool = False
  head: str = heads.SPAN
  disagreement_questions: int = 20
  strategy: tf.distribute.Strategy | None = None

  def train(self, squad_file):
    """Fine-tunes and writes the model to output_dir/model.

    Args:
      squad_file: `SquadFile` to train on.
    """
    examples = training_examples(
      squad_file,
      self.decoder_options.version_2_with_negative,
      every_annotator=self.head == heads.BIO,
    )
    self._report(squad_file)
    seed_everything(self.fine_tuning_options.seed)
    extractor, _ = self._extractor_of_source(self.strategy)
    fine_tune(
      extractor,
      examples,
      self.fine_tuning_options,
      self.output_dir,
      self.strategy,
    )
    if is_chief(self.strategy):
      extractor.save_to_preset(self._model_directory)
      log_line(f"The model stands in {self._model_directory}")

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
    extractor = self._trained_extractor()
    logits = LogitsWriter(extractor.model.logit_names) if write_logits else None
    agreement = self._agreement_writer()
    takers = [taker.add for taker in (logits, agreement) if taker]
    predictions = list(
      tqdm.tqdm(
        extractor.predict(
          examples,
          batch_size,
          on_logits=lambda batch: [take(batch) for take in takers],
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
    paths = self._write_prediction_files(predictions, version_2)
    if agreement:
      paths += agreement.write(self.output_dir)
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
    if self.decoder_options.version_2_with_negative:
      scores = evaluate_squad2(
        squad_file.examples,
        predictions,
        read_na_probs(self._path(prediction_files.NULL_ODDS_FILE)),
        # The predictions are already empty where the odds say so.
        na_prob_thresh=math.inf,
      )
    elif squad_file.version_2:
      scores = evaluate_squad2(squad_file.examples, predictions)
    else:
      scores = evaluate_squad1(squad_file.examples, predictions)
    table = format_scores(scores)
    if self.head == heads.BIO:
      of_spans = tag_job.tag_scores(self.output_dir, squad_file.examples)
      table = f"{table}\n\n{format_tag_scores(of_spans)}"
      scores = {**scores, **of_spans}
    write_json_atomically(self._path(_SCORES_FILE), scores)
    print(table)
    return scores

  def _agreement_writer(self):
    if self.head == heads.SPAN:
      return None
    return tag_job.AgreementWriter(self.disagreement_questions)

  def _write_prediction_files(self, predictions, version_2):
    write = prediction_files.write_prediction_files
    if self.head == heads.BIO:
      write = tag_prediction_files.write_tag_prediction_files
    return write(self.output_dir, predictions, version_2)

  @property
  def _model_directory(self):
    return self._path(MODEL_DIRECTORY)

  def _path(self, name):
    return os.path.join(self.output_dir, name)

  def _report(self, squad_file):
    for line in squad_file.report.lines(_ALL_PLACES if self.verbose else 3):
      log_line(line)

  def _extractor_of_source(self, strategy=None):
    """The extractor to train or predict with, and whether its head is new."""
    with scope_of(strategy):
      loaded = self.source.load()
      model = heads.model_of(loaded, self.head, self.head_bias)
    vocabulary = self.source.vocabulary(loaded)
    has_head = heads.has_head(loaded, self.head)
    log_line(
      f"Starting from {loaded.description}"
      f"{f', with its {self.head} head' if has_head else ''}."
    )
    extractor = SpanExtractor(
      model,
      vocabulary,
      self.source.lower_case(loaded),
      self.window_options,
      self.decoder_options,
      fixed_length=self.fine_tuning_options.length_bucket is None,
    )
    return extractor, not has_head

  def _trained_extractor(self):
    """The model of output_dir, else a fine-tuned one of the flags."""
    if tf.io.gfile.isdir(self._model_directory):
      saved = (read_span_config(self._model_directory) or {}).get("head")
      if saved not in (None, self.head):
        raise ValueError(
          f"{self._model_directory} has a {saved} head: give "
          f"--head={saved}, or another --output_dir."
        )
      log_line(f"Predicting with {self._model_directory}")
      return SpanExtractor.from_preset(
        self._model_directory,
        self.window_options,
        self.decoder_options,
        fixed_length=self.fine_tuning_options.length_bucket is None,
      )
    if tf.train.latest_checkpoint(self.output_dir):
      raise ValueError(
        f"{self.output_dir} holds checkpoints of a training that has not "
        "ended. Run the same command with --do_train to finish it."
      )
    if not (self.source.preset or self.source.bert_config_file):
      raise ValueError(
        f"There is no model in {self._model_directory}. Train one with "
        "--do_train, or give a fine-tuned one as --preset or --init_checkpoint."
      )
    extractor, head_is_new = self._extractor_of_source()
    if head_is_new:
      raise ValueError(
        f"The model has no {self.head} head, so its answers would be random. "
        "Fine-tune it with --do_train first, or give a fine-tuned model."
      )
    return extractor


def read(path, dataset):
  """Reads questions.

  Args:
    path: SQuAD JSON file; None for `dataset`.
    dataset: (TFDS name, split, data_dir).

  Returns:
    A `SquadFile`.
  """
  return read_squad(path) if path else read_tfds(*dataset)


def write_run_flags(output_dir, flag_values):
  """Writes output_dir/run.flags, which repeats the run as --flagfile."""
  tf.io.gfile.makedirs(output_dir)
  write_text_atomically(
    os.path.join(output_dir, _FLAGS_FILE), flag_values.flags_into_string()
  )
