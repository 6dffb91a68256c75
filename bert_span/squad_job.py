"""What run_squad does, with plain arguments: train, predict, evaluate."""

import dataclasses
import math
import os
import sys

import tensorflow as tf
import tqdm

from bert_span.answers import prediction_files
from bert_span.answers.decoder import DecoderOptions
from bert_span.answers.logits_file import LogitsWriter
from bert_span.answers.original_no_span import as_original_without_span
from bert_span.answers.prediction_reader import read_na_probs, read_predictions
from bert_span.answers.score_table import format_scores
from bert_span.answers.squad1_metrics import evaluate_squad1
from bert_span.answers.squad2_metrics import evaluate_squad2
from bert_span.data.atomic_file import (
  write_json_atomically,
  write_text_atomically,
)
from bert_span.data.squad_reader import read_squad
from bert_span.data.squad_rules import prediction_examples, training_examples
from bert_span.data.tfds_reader import read_tfds
from bert_span.extractor import SpanExtractor, span_model_of
from bert_span.fine_tuning import (
  FineTuningOptions,
  fine_tune,
  seed_everything,
)
from bert_span.model_source import EncoderSource
from bert_span.text.windows import WindowOptions
from bert_span.training.progress import log_line

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
    decoder_options: `DecoderOptions`.
    fine_tuning_options: `FineTuningOptions`.
    head_bias: whether a new span head has a bias.
    no_span: "no_answer", or "original", see `as_original_without_span`.
    verbose: name every place of a data problem.
  """

  output_dir: str
  source: EncoderSource
  window_options: WindowOptions
  decoder_options: DecoderOptions
  fine_tuning_options: FineTuningOptions
  head_bias: bool = True
  no_span: str = "no_answer"
  verbose: bool = False

  def train(self, squad_file):
    """Fine-tunes and writes the model to output_dir/model.

    Args:
      squad_file: `SquadFile` to train on.
    """
    examples = training_examples(
      squad_file, self.decoder_options.version_2_with_negative
    )
    self._report(squad_file)
    seed_everything(self.fine_tuning_options.seed)
    extractor, _ = self._extractor_of_source()
    fine_tune(extractor, examples, self.fine_tuning_options, self.output_dir)
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
    logits = LogitsWriter() if write_logits else None
    predictions = list(
      tqdm.tqdm(
        extractor.predict(
          examples, batch_size, on_logits=logits.add if logits else None
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
    paths = prediction_files.write_prediction_files(
      self.output_dir, predictions, version_2
    )
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
    write_json_atomically(self._path(_SCORES_FILE), scores)
    print(format_scores(scores))
    return scores

  @property
  def _model_directory(self):
    return self._path(MODEL_DIRECTORY)

  def _path(self, name):
    return os.path.join(self.output_dir, name)

  def _report(self, squad_file):
    for line in squad_file.report.lines(_ALL_PLACES if self.verbose else 3):
      log_line(line)

  def _extractor_of_source(self):
    """The extractor to train or predict with, and whether its head is new."""
    loaded = self.source.load()
    vocabulary = self.source.vocabulary(loaded)
    has_head = loaded.head_kernel is not None
    head_bias = loaded.head_bias is not None if has_head else self.head_bias
    log_line(
      f"Starting from {loaded.description}"
      f"{', with its span head' if has_head else ''}."
    )
    extractor = SpanExtractor(
      span_model_of(loaded, head_bias),
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
        "The model has no span head, so its answers would be random. "
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
