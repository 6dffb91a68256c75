"""What run_pretraining does, with plain arguments: train, evaluate, export."""

import contextlib
import json
import os
import tempfile

import keras
import tensorflow as tf

from bert_span.modeling import encoder
from bert_span.presets.encoder_source import EncoderSource
from bert_span.pretraining.evaluation import (
  HeldOutText,
  evaluate,
  write_scores,
)
from bert_span.pretraining.heads import weights as pretraining_heads
from bert_span.pretraining.heads.model import PretrainingModel
from bert_span.pretraining.input import PretrainingInput
from bert_span.pretraining.model_files import PretrainedModelFiles
from bert_span.pretraining.pretrainer import pretrain
from bert_span.storage.atomic_file import (
  recover_directory,
  unfinished_directory,
  write_json_atomically,
)
from bert_span.storage.files import copy_tree, is_remote, local_directory
from bert_span.storage.log import log_line
from bert_span.training.devices.strategy import scope_of
from bert_span.training.devices.workers import (
  WorkerVote,
  is_chief,
  own_folder,
)
from bert_span.training.run.best_model import (
  BestModel,
  selection_words,
  write_selection,
)
from bert_span.training.run.checkpoints import steps_made
from bert_span.training.run.preemption import TerminationRequest

MODEL_DIRECTORY = "model"
TF1_DIRECTORY = "tf1"
HUGGINGFACE_DIRECTORY = "huggingface"
_PLACES_FILE = "data_places.jsonl"
_SCORES_FILE = "eval_results.json"


class PretrainingJob:
  """A run of run_pretraining with its model.

  New weights come from the seed. Models are written atomically on a local
  disk, elsewhere file by file.

  Args:
    run: `PretrainingRun`.
    strategy: tf.distribute.Strategy to train with; None for one device.
  """

  def __init__(self, run, strategy=None):
    self.output_dir = run.output_dir
    self.max_seq_length = run.max_seq_length
    self.masking = run.masking
    self.options = run.options
    self.strategy = strategy
    keras.utils.set_random_seed(run.options.seed)
    with scope_of(strategy):
      loaded = run.source.load()
      self.model = PretrainingModel(loaded.backbone, run.options.span_boundary)
    self._initial_weights = run.source.weights_digest(loaded)
    vocabulary = run.source.vocabulary(loaded)
    lower_case = run.source.lower_case(loaded)
    _check_sizes(loaded.backbone, vocabulary, run.max_seq_length)
    self._input = PretrainingInput(
      vocabulary, lower_case, run.max_seq_length, run.masking
    )
    self._files = PretrainedModelFiles(self.model, vocabulary, lower_case)
    heads, description = _stored_heads(run.source), loaded.description
    filled = pretraining_heads.assign_heads(self.model, heads, description)
    log_line(
      f"Starting from {description}, heads of it: "
      f"{', '.join(filled) or 'none, they are new'}."
    )

  def train(self, text, held_out=None):
    """Trains and writes the model to output_dir/model.

    Args:
      text: `TextInput`.
      held_out: `HeldOutText`, or None. With a best_metric the best model is
        written, and taken over by this job; else the model of the last step.

    Raises:
      Preempted: SIGTERM came; the run is saved.
    """
    tf.io.gfile.makedirs(self.output_dir)
    is_writer = is_chief(self.strategy)
    if is_writer and not is_remote(self.output_dir):
      for name in (MODEL_DIRECTORY, TF1_DIRECTORY, HUGGINGFACE_DIRECTORY):
        recover_directory(self._path(name))
    directory = self._path(MODEL_DIRECTORY)
    termination = TerminationRequest(WorkerVote(self.strategy))
    callbacks = [termination]
    if held_out:
      callbacks.append(
        held_out.selection(
          self.model,
          self.options.num_train_steps,
          # Every worker scores, since all must stop at the same step; only
          # the chief writes.
          BestModel(directory, self._write_selected) if is_writer else None,
          own_folder(self.strategy, self.output_dir),
          termination.interruptible,
        )
      )
    pretrain(
      self.model,
      self.training_batches(
        text, self._path(_PLACES_FILE) if is_writer else None
      ),
      self.options,
      self.output_dir,
      self._input.fingerprint(text)
      | {"initial_weights_sha256": self._initial_weights},
      callbacks,
      self.strategy,
    )
    termination.exit_if_received()
    if not is_writer:
      return
    if held_out and held_out.options.best_metric:
      self._take_weights(EncoderSource(preset=directory))
    else:
      self._write_selected(None)
    log_line(f"The model is in {directory}{selection_words(directory)}")

  def training_batches(self, text, places_path=None):
    """The batches of `train`; see `PretrainingInput.training_batches`."""
    return self._input.training_batches(
      text, self.options.train_batch_size, places_path
    )

  def export(self):
    """Writes the model for the original and for Hugging Face."""
    new = _uploaded if is_remote(self.output_dir) else unfinished_directory
    with new(self._path(TF1_DIRECTORY)) as unfinished:
      self._files.write_tf1(unfinished)
    with new(self._path(HUGGINGFACE_DIRECTORY)) as unfinished:
      self._files.write_huggingface(unfinished)
    log_line(
      f"Exported to {self._path(TF1_DIRECTORY)} and "
      f"{self._path(HUGGINGFACE_DIRECTORY)}"
    )

  def evaluate(self, text, batch_size, max_steps=None):
    """Scores the model on a `TextInput` and writes eval_results.json."""
    scores = evaluate(
      self.model, self._input.evaluation_batches(text, batch_size), max_steps
    )
    tf.io.gfile.makedirs(self.output_dir)
    write_json_atomically(self._path(_SCORES_FILE), scores)
    write_scores(scores, self.output_dir, steps_made(self.output_dir))
    print(json.dumps(scores))

  def held_out(self, text, batch_size, max_steps, options):
    """The `HeldOutText` of a `TextInput`, for scores during training."""
    return HeldOutText(
      lambda: self._input.evaluation_batches(text, batch_size),
      max_steps,
      options,
      {
        "input": self._input.fingerprint(text)["input"],
        "batch_size": batch_size,
      },
    )

  def _take_weights(self, source):
    """Replaces the weights of encoder and heads with those of a model."""
    best = source.load()
    for weight, other in zip(
      self.model.backbone.weights, best.backbone.weights, strict=True
    ):
      weight.assign(other)
    pretraining_heads.assign_heads(
      self.model, _stored_heads(source), best.description
    )

  def _write_selected(self, selection):
    """Writes output_dir/model, with a dict or None as selection.json."""
    directory = self._path(MODEL_DIRECTORY)
    if is_remote(directory):
      with _uploaded(directory) as local:
        self._files.write_model(local)
      # Last: without it an incomplete model does not count as the best one.
      write_selection(directory, selection)
      return
    with unfinished_directory(directory) as unfinished:
      self._files.write_model(unfinished)
      write_selection(unfinished, selection)

  def _path(self, name):
    return os.path.join(self.output_dir, name)


def _stored_heads(source):
  """The pre-training heads of the encoder's source, {} for none."""
  if source.preset:
    if not tf.io.gfile.isdir(source.preset):
      return {}
    with local_directory(source.preset) as local:
      return pretraining_heads.read_heads(local)
  if source.init_checkpoint:
    return pretraining_heads.read_original_heads(source.init_checkpoint)
  return {}


@contextlib.contextmanager
def _uploaded(directory):
  """Yields an empty local directory, which replaces a remote one at the end."""
  with tempfile.TemporaryDirectory() as local:
    yield local
    if tf.io.gfile.isdir(directory):
      tf.io.gfile.rmtree(directory)
    copy_tree(local, directory)


def _check_sizes(backbone, vocabulary, max_seq_length):
  encoder.check_sequence_length(backbone, max_seq_length)
  if len(vocabulary) > backbone.vocabulary_size:
    raise ValueError(
      f"The vocabulary has {len(vocabulary)} tokens but the encoder only "
      f"{backbone.vocabulary_size} embeddings. Use the vocab.txt that belongs "
      "to the checkpoint."
    )
