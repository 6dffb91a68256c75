"""What run_pretraining does, with plain arguments: train, evaluate, export."""

import contextlib
import dataclasses
import json
import os
import tempfile

import tensorflow as tf

from bert_span.fine_tuning.fine_tuner import seed_everything
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
from bert_span.pretraining.options import MaskingOptions, PretrainingOptions
from bert_span.pretraining.pretrainer import pretrain
from bert_span.storage.atomic_file import (
  recover_directory,
  unfinished_directory,
  write_json_atomically,
)
from bert_span.storage.files import copy_tree, is_remote, local_directory
from bert_span.storage.log import log_line
from bert_span.training.devices.strategy import (
  is_chief,
  own_folder,
  scope_of,
)
from bert_span.training.devices.worker_agreement import WorkerVote
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


@dataclasses.dataclass
class PretrainingJob:
  """A run of run_pretraining in one output directory.

  Attributes:
    output_dir: folder of everything that is written, local or any path of
      tf.io.gfile; models stand whole or not at all on a local disk, elsewhere
      they are written file by file.
    source: `EncoderSource`.
    max_seq_length: WordPieces in a sequence, [CLS] and [SEP] included.
    masking: `MaskingOptions` with max_predictions.
    options: `PretrainingOptions`.
    strategy: tf.distribute.Strategy to train with; None for one device.
  """

  output_dir: str
  source: EncoderSource
  max_seq_length: int
  masking: MaskingOptions
  options: PretrainingOptions
  strategy: tf.distribute.Strategy | None = None

  def __post_init__(self):
    """Loads the model; new weights come from the seed."""
    seed_everything(self.options.seed)
    with scope_of(self.strategy):
      loaded = self.source.load()
      self.model = PretrainingModel(loaded.backbone, self.options.span_boundary)
    self._initial_weights = self.source.weights_digest(loaded)
    vocabulary = self.source.vocabulary(loaded)
    lower_case = self.source.lower_case(loaded)
    _check_sizes(loaded.backbone, vocabulary, self.max_seq_length)
    self._input = PretrainingInput(
      vocabulary, lower_case, self.max_seq_length, self.masking
    )
    self._files = PretrainedModelFiles(self.model, vocabulary, lower_case)
    heads, description = _stored_heads(self.source), loaded.description
    filled = pretraining_heads.assign_heads(self.model, heads, description)
    log_line(
      f"Starting from {description}, heads of it: "
      f"{', '.join(filled) or 'none, they are new'}."
    )

  def train(self, text, held_out=None):
    """Trains and writes the model to output_dir/model.

    Args:
      text: `TextInput`.
      held_out: `HeldOutText`, or None. With a best_metric the model that is
        written, and that this job holds then, is the best by it; else that of
        the last step.

    Raises:
      Preempted: SIGTERM came; the run is saved.
    """
    tf.io.gfile.makedirs(self.output_dir)
    keeps = is_chief(self.strategy)
    if keeps and not is_remote(self.output_dir):
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
          # Every worker scores, since all must stop at the same step; one
          # writes.
          BestModel(directory, self._write_selected) if keeps else None,
          own_folder(self.strategy, self.output_dir),
          termination.interruptible,
        )
      )
    pretrain(
      self.model,
      # One worker notes the places.
      self.training_batches(text, self._path(_PLACES_FILE) if keeps else None),
      self.options,
      self.output_dir,
      self._input.fingerprint(text)
      | {"initial_weights_sha256": self._initial_weights},
      callbacks,
      self.strategy,
    )
    termination.exit_if_received()
    if not keeps:
      return
    if held_out and held_out.options.best_metric:
      self._take_weights(EncoderSource(preset=directory))
    else:
      self._write_selected(None)
    log_line(f"The model stands in {directory}{selection_words(directory)}")

  def training_batches(self, text, places_path=None):
    """The batches that `train` trains on.

    Args:
      text: `TextInput`.
      places_path: see `PretrainingInput.training_batches`.
    """
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
    """Scores the model on held-out text and writes eval_results.json.

    Args:
      text: `TextInput`.
      batch_size: sequences the model reads at once.
      max_steps: batches at most; None for all.

    Returns:
      Dict of `pretraining.evaluate`.
    """
    scores = evaluate(
      self.model, self._input.evaluation_batches(text, batch_size), max_steps
    )
    tf.io.gfile.makedirs(self.output_dir)
    write_json_atomically(self._path(_SCORES_FILE), scores)
    write_scores(scores, self.output_dir, steps_made(self.output_dir))
    print(json.dumps(scores))
    return scores

  def held_out(self, text, batch_size, max_steps, options):
    """Text to score the model on while it is trained.

    Args:
      text: `TextInput`.
      batch_size: sequences the model reads at once.
      max_steps: batches at most; None for all.
      options: `SelectionOptions`.

    Returns:
      A `HeldOutText`.
    """
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
    """Replaces the weights of encoder and heads by those of a model."""
    best = source.load()
    for weight, other in zip(
      self.model.backbone.weights, best.backbone.weights, strict=True
    ):
      weight.assign(other)
    pretraining_heads.assign_heads(
      self.model, _stored_heads(source), best.description
    )

  def _write_selected(self, selection):
    """Writes output_dir/model; `selection` as `write_selection` has it."""
    directory = self._path(MODEL_DIRECTORY)
    if is_remote(directory):
      with _uploaded(directory) as local:
        self._files.write_model(local)
      # Last: without it a best model that is not whole does not pass for one.
      write_selection(directory, selection)
      return
    with unfinished_directory(directory) as unfinished:
      self._files.write_model(unfinished)
      write_selection(unfinished, selection)

  def _path(self, name):
    return os.path.join(self.output_dir, name)


def trained_model(output_dir):
  """The model directory that an earlier call has trained, or None."""
  directory = os.path.join(output_dir, MODEL_DIRECTORY)
  return directory if tf.io.gfile.isdir(directory) else None


def _stored_heads(source):
  """The heads that the source of the encoder has, {} for none."""
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
