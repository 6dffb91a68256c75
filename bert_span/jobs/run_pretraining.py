"""What run_pretraining does: trains, exports and scores."""

import dataclasses
import json
import os

import keras
import tensorflow as tf

from bert_span.jobs.dry_run import pretraining_lines
from bert_span.jobs.options import PretrainingRunOptions, RunOptions
from bert_span.modeling import encoder
from bert_span.presets.encoder_source import EncoderSource
from bert_span.presets.selection import (
  SELECTION_FILE,
  selection_words,
  write_selection,
)
from bert_span.presets.span_config import find_embedded_model
from bert_span.pretraining import model_files
from bert_span.pretraining.batches import PretrainingInput, are_records
from bert_span.pretraining.model import PretrainingModel
from bert_span.pretraining.options import (
  MaskingOptions,
  PretrainingOptions,
  TextLocation,
)
from bert_span.pretraining.pretrainer import make_evaluate, pretrain
from bert_span.pretraining.text_sources import find_sources
from bert_span.storage import atomic_file
from bert_span.storage.files import local_directory, make_folder
from bert_span.storage.log import log_line
from bert_span.training.callbacks import TerminationRequest
from bert_span.training.checkpoints import steps_made
from bert_span.training.progress import write_scalars
from bert_span.training.run_folder import RunFlags, locked_folder
from bert_span.training.selection import ModelSelection
from bert_span.training.strategy import (
  is_chief,
  scope_of,
  start_strategy,
  worker_vote,
)

MODEL_DIRECTORY = "model"
_DIRECTORIES = (MODEL_DIRECTORY, "tf1", "huggingface")
_PLACES_FILE = "data_places.jsonl"
_SCORES_FILE = "eval_results.json"


@dataclasses.dataclass(frozen=True, kw_only=True)
class PretrainingRun(PretrainingRunOptions, RunOptions):
  """The steps of a run, in this order, and their inputs."""

  max_seq_length: int  # WordPieces in a sequence, [CLS] and [SEP] included
  masking: MaskingOptions  # with max_predictions
  options: PretrainingOptions
  text: TextLocation | None = None  # to train on
  eval_text: TextLocation | None = None  # held out

  def texts(self):
    """Returns the sources to train on and to score on, [] if not needed."""
    text = find_sources(self.text) if self.do_train else []
    needs_eval_text = self.do_eval or self.selection
    eval_text = find_sources(self.eval_text) if needs_eval_text else []
    for sources in (text, eval_text):
      are_records(sources)  # Refuses a mixture.
    return text, eval_text


def run_pretraining(run):
  """Does the steps of a `PretrainingRun`; `Preempted` if SIGTERM came."""
  # First of all: TensorFlow joins workers before it has run anything.
  strategy = start_strategy(run.devices, run.options) if run.do_train else None
  # Before the model is loaded, so that a wrong path is reported first.
  text, eval_text = run.texts()
  job = PretrainingJob(run, strategy)
  if run.do_train:
    job.train(text, eval_text)
  if not is_chief(strategy):
    return  # Only the chief exports and scores.
  if run.do_train and run.do_export:
    job.export()
  if run.do_eval:
    job.evaluate(eval_text)


def print_dry_run(run):
  """Prints what `run_pretraining` would do."""
  text, _ = run.texts()
  job = PretrainingJob(run)
  print("Dry run: nothing is trained, nothing is written.")
  if run.do_train:
    for line in pretraining_lines(job, text):
      print(line, flush=True)
  if run.do_eval:
    print(
      f"Then up to {run.max_eval_steps:,} batches of {run.eval_batch_size} "
      "sequences of held-out text would be scored."
    )


def trained_source(output_dir):
  """Returns the `EncoderSource` of an earlier call's model, or None."""
  directory = os.path.join(output_dir, MODEL_DIRECTORY)
  has_model = tf.io.gfile.isdir(directory)
  return EncoderSource(preset=directory) if has_model else None


class PretrainingJob:
  """A `PretrainingRun` with its model, whose new weights come from the seed."""

  def __init__(self, run, strategy=None):
    self.run = run
    self._strategy, self._is_writer = strategy, is_chief(strategy)
    keras.utils.set_random_seed(run.options.seed)
    with scope_of(strategy):
      loaded = run.source.load()
      architecture = encoder.encoder_config(loaded.backbone).architecture
      if architecture != "bert":
        raise ValueError(
          f"{loaded.description} is {architecture}. Give a BERT to pre-train."
        )
      self.model = PretrainingModel(loaded.backbone, run.options.span_boundary)
    self._initial_weights = run.source.weights_digest(loaded)
    vocabulary = loaded.vocabulary(run.source.vocab_file)
    lower_case = run.source.lower_case(loaded)
    encoder.check_sequence_length(loaded.backbone, run.max_seq_length)
    self.input = PretrainingInput(
      vocabulary, lower_case, run.max_seq_length, run.masking
    )
    filled = self._assign_heads(run.source, loaded.description)
    log_line(
      f"Starting from {loaded.description}, heads of it: "
      f"{', '.join(filled) or 'none, they are new'}."
    )

  def train(self, text, eval_text=()):
    """Trains and writes the model, or the best one, to output_dir/model."""
    run, strategy, is_writer = self.run, self._strategy, self._is_writer
    directory = run.path(MODEL_DIRECTORY)
    termination = TerminationRequest(worker_vote(strategy))
    callbacks = [termination]
    if run.selection:
      callbacks.append(self._selection(eval_text, termination))
    if is_writer:
      callbacks.append(RunFlags(run.output_dir, run.run_flags))
    digest = {"initial_weights_sha256": self._initial_weights}
    places_path = run.path(_PLACES_FILE) if is_writer else None
    batches = self.input.training_batches(
      text, run.options.train_batch_size, places_path
    )
    with locked_folder(run.output_dir, strategy, _DIRECTORIES):
      pretrain(
        self.model,
        batches,
        run.options,
        run.output_dir,
        self.input.fingerprint(text) | digest,
        callbacks,
        strategy,
      )
      if not is_writer:
        return
      if run.selection and run.selection.best_metric:
        source = EncoderSource(preset=directory)
        best = source.load()
        self.model.backbone.set_weights(best.backbone.get_weights())
        self._assign_heads(source, best.description)
      else:
        self._write_selected(None)
    log_line(f"The model is in {directory}{selection_words(directory)}")

  def export(self):
    """Writes the model for the original and for Hugging Face."""
    writers = model_files.write_tf1, model_files.write_huggingface
    lower_case = self.input.lower_case
    for name, write in zip(_DIRECTORIES[1:], writers, strict=True):
      with atomic_file.replaced_directory(
        self.run.path(name), keeps=lambda name: True
      ) as unfinished:
        write(unfinished, self.model, self.input.vocabulary, lower_case)
      log_line(f"Exported to {self.run.path(name)}")

  def evaluate(self, text):
    """Scores the model on held-out text and writes eval_results.json."""
    run = self.run
    batches = self.input.evaluation_batches(text, run.eval_batch_size)
    scores = make_evaluate(self.model)(batches, run.max_eval_steps)
    make_folder(run.output_dir)
    atomic_file.write_json_atomically(run.path(_SCORES_FILE), scores)
    writer = tf.summary.create_file_writer(run.path("eval"))
    write_scalars(writer, scores, steps_made(run.output_dir))
    writer.close()
    print(json.dumps(scores))

  def _selection(self, text, termination):
    run, evaluate = self.run, make_evaluate(self.model)

    def metrics():
      batches = self.input.evaluation_batches(text, run.eval_batch_size)
      batches = termination.interruptible(batches)
      scores = evaluate(batches, run.max_eval_steps).items()
      return {n: x for n, x in scores if n.endswith(("_loss", "_accuracy"))}

    return ModelSelection(
      run.selection,
      run.options.num_train_steps,
      metrics,
      run.output_dir,
      run.path(MODEL_DIRECTORY),
      self._write_selected,
      {
        "input": self.input.fingerprint(text)["input"],
        "batch_size": run.eval_batch_size,
        "max_steps": run.max_eval_steps,
      },
      self._strategy,
    )

  def _write_selected(self, selection):
    """Writes output_dir/model, with a dict or None as selection.json."""
    directory = self.run.path(MODEL_DIRECTORY)
    # Without selection.json an incomplete model does not count as the best one.
    with atomic_file.replaced_directory(
      directory,
      last=[SELECTION_FILE],
      keeps=lambda name: name != SELECTION_FILE,
    ) as unfinished:
      model_files.write_model(
        unfinished, self.model, self.input.vocabulary, self.input.lower_case
      )
      write_selection(unfinished, selection)

  def _assign_heads(self, source, description):
    """Sets the heads that the encoder's source has; returns their names."""
    heads = {}
    preset = source.preset and find_embedded_model(source.preset)
    if preset and tf.io.gfile.isdir(preset):
      with local_directory(preset) as local:
        heads = model_files.read_heads(local)
    elif source.init_checkpoint:
      heads = model_files.read_original_heads(source.init_checkpoint)
    return model_files.assign_heads(self.model, heads, description)
