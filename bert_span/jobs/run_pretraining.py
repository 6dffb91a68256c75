"""What run_pretraining does: trains, exports and scores."""

import json
import typing

import keras
import tensorflow as tf

from bert_span.jobs.dry_run import pretraining_lines
from bert_span.modeling import encoder
from bert_span.options.fields import flagfile_text
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
from bert_span.pretraining.options import TextLocation
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

if typing.TYPE_CHECKING:
  from bert_span.run_pretraining import RunPretrainingOptions

MODEL_DIRECTORY = "model"
_DIRECTORIES = (MODEL_DIRECTORY, "tf1", "huggingface")
_PLACES_FILE = "data_places.jsonl"
_SCORES_FILE = "eval_results.json"


def run_pretraining(options: "RunPretrainingOptions"):
  """Trains, exports and scores, as the options ask.

  Raises:
    ValueError: an option does not fit the text or the model.
    Preempted: SIGTERM was received; the same run can continue.
  """
  options.log_unused()
  if options.dry_run:
    _print_dry_run(options)
    return
  # First, as TensorFlow joins workers only before its first operation.
  strategy = start_strategy(options, options) if options.do_train else None
  # Before the model is loaded, so that a wrong path is reported first.
  text, eval_text = _text_sources(options)
  job = PretrainingJob(options, strategy)
  if options.do_train:
    job.train(text, eval_text)
  if not is_chief(strategy):
    return  # Only the chief exports and scores.
  if options.do_train and options.do_export:
    job.export()
  if options.do_eval:
    job.evaluate(eval_text)


def _print_dry_run(options):
  """Prints what `run_pretraining` would do."""
  text, _ = _text_sources(options)
  job = PretrainingJob(options)
  print("Dry run: nothing is trained, nothing is written.")
  if options.do_train:
    for line in pretraining_lines(job, text):
      print(line, flush=True)
  if options.do_eval:
    print(
      f"Then up to {options.max_eval_steps:,} batches of "
      f"{options.eval_batch_size} sequences of held-out text would be scored."
    )


def _text_sources(options):
  """Returns the text to train on and to score on; [] if it is not needed."""
  text, eval_text = [], []
  if options.do_train:
    text = find_sources(options)
  if options.do_eval or options.eval_steps:
    path = options.eval_file
    held_out = TextLocation.of(options, input_file=path, dataset=None)
    eval_text = find_sources(held_out if path else options)
  for sources in (text, eval_text):
    are_records(sources)  # Refuses a mixture.
  return text, eval_text


def _encoder_source(options):
  """Returns the `EncoderSource`: without training, a model in output_dir."""
  directory = options.path(MODEL_DIRECTORY)
  if not options.do_train and tf.io.gfile.isdir(directory):
    return EncoderSource(preset=directory)
  options.check_model()
  return EncoderSource.of(options)


class PretrainingJob:
  """The options of a run and its model, whose new weights follow the seed."""

  def __init__(self, options, strategy=None):
    self.options, source = options, _encoder_source(options)
    self._strategy, self._is_writer = strategy, is_chief(strategy)
    keras.utils.set_random_seed(options.seed)
    with scope_of(strategy):
      loaded = source.load()
      architecture = encoder.encoder_config(loaded.backbone).architecture
      if architecture != "bert":
        raise ValueError(
          f"{loaded.description} is {architecture}. Give a BERT to pre-train."
        )
      self.model = PretrainingModel(loaded.backbone, options.span_boundary)
    self._initial_weights = source.weights_digest(loaded)
    vocabulary = loaded.vocabulary(source.vocab_file)
    lower_case = source.lower_case(loaded)
    encoder.check_sequence_length(loaded.backbone, options.max_seq_length)
    self.input = PretrainingInput(
      vocabulary, lower_case, options.max_seq_length, options.masking_options()
    )
    head_names = self._assign_heads(source, loaded.description)
    log_line(
      f"Starting from {loaded.description}. Heads taken from it: "
      f"{', '.join(head_names) or 'none'}."
    )

  def train(self, text, eval_text=()):
    """Trains and writes the model, or the best one, to output_dir/model."""
    options, strategy, is_writer = self.options, self._strategy, self._is_writer
    directory = options.path(MODEL_DIRECTORY)
    termination = TerminationRequest(worker_vote(strategy))
    callbacks = [termination]
    if options.selection():
      callbacks.append(self._selection(eval_text, termination))
    if is_writer:
      callbacks.append(RunFlags(options.output_dir, flagfile_text(options)))
    digest = {"initial_weights_sha256": self._initial_weights}
    places_path = options.path(_PLACES_FILE) if is_writer else None
    batches = self.input.training_batches(
      text, options.train_batch_size, places_path
    )
    with locked_folder(options.output_dir, strategy, _DIRECTORIES):
      pretrain(
        self.model,
        batches,
        options,
        options.output_dir,
        self.input.fingerprint(text) | digest,
        callbacks,
        strategy,
      )
      if not is_writer:
        return
      if options.selection() and options.selection().best_metric:
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
        self.options.path(name), keeps=lambda name: True
      ) as unfinished:
        write(unfinished, self.model, self.input.vocabulary, lower_case)
      log_line(f"Exported to {self.options.path(name)}")

  def evaluate(self, text):
    """Scores the model on held-out text and writes eval_results.json."""
    options = self.options
    batches = self.input.evaluation_batches(text, options.eval_batch_size)
    scores = make_evaluate(self.model)(batches, options.max_eval_steps)
    make_folder(options.output_dir)
    atomic_file.write_json_atomically(options.path(_SCORES_FILE), scores)
    writer = tf.summary.create_file_writer(options.path("eval"))
    write_scalars(writer, scores, steps_made(options.output_dir))
    writer.close()
    print(json.dumps(scores))

  def _selection(self, text, termination):
    options, evaluate = self.options, make_evaluate(self.model)

    def metrics():
      batches = self.input.evaluation_batches(text, options.eval_batch_size)
      batches = termination.interruptible(batches)
      scores = evaluate(batches, options.max_eval_steps).items()
      return {n: x for n, x in scores if n.endswith(("_loss", "_accuracy"))}

    return ModelSelection(
      options.selection(),
      options.num_train_steps,
      metrics,
      options.output_dir,
      options.path(MODEL_DIRECTORY),
      self._write_selected,
      {
        "input": self.input.fingerprint(text)["input"],
        "batch_size": options.eval_batch_size,
        "max_steps": options.max_eval_steps,
      },
      self._strategy,
    )

  def _write_selected(self, selection):
    """Writes output_dir/model, with a dict or None as selection.json."""
    directory = self.options.path(MODEL_DIRECTORY)
    # selection.json comes last: without it no model counts as the best one.
    with atomic_file.replaced_directory(
      directory,
      last=[SELECTION_FILE],
      keeps=lambda name: name != SELECTION_FILE,
    ) as unfinished:
      model_files.write_preset(
        unfinished, self.model, self.input.vocabulary, self.input.lower_case
      )
      write_selection(unfinished, selection)

  def _assign_heads(self, source, description):
    """Sets the heads that a source of the encoder has; returns their names."""
    heads = {}
    preset = source.preset and find_embedded_model(source.preset)
    if preset and tf.io.gfile.isdir(preset):
      with local_directory(preset) as local:
        heads = model_files.read_pretraining_heads(local)
    elif source.init_checkpoint:
      heads = model_files.read_original_heads(source.init_checkpoint)
    return model_files.assign_heads(self.model, heads, description)
