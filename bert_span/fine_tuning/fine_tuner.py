"""Fine-tuning of a span model: examples in, trained weights out."""

import dataclasses
import os

import keras

from bert_span.data.labelled_windows import label_windows
from bert_span.data.length_buckets import BucketedBatches
from bert_span.fine_tuning.distillation import (
  SOFT_LABELS_FILE,
  check_teachers,
  distillation_loss_fn,
  teachers_digest,
  with_soft_labels,
)
from bert_span.modeling.encoder_modes import computing_in, recomputing_layers
from bert_span.storage.log import log_line
from bert_span.training.devices.strategy import own_folder, scope_of
from bert_span.training.learning_rate import WarmupLinearDecay
from bert_span.training.loop import Trainer
from bert_span.training.optimizer import create_optimizer


def fine_tune(
  extractor,
  examples,
  options,
  output_dir,
  callbacks=(),
  fingerprint=None,
  strategy=None,
  teachers=None,
):
  """Trains an extractor's model on examples, resuming where a run stopped.

  Args:
    extractor: `SpanExtractor`; its model is trained in place.
    examples: sequence of `SquadExample`; the first answer is trained on, by a
      B/I/O head what every annotator marked.
    options: `FineTuningOptions`.
    output_dir: folder of checkpoints and event files.
    callbacks: sequence of `Callback`.
    fingerprint: dict of JSON values that must not change within the run,
      beside those that options and examples give.
    strategy: tf.distribute.Strategy in whose scope the extractor's model was
      made; None for one device.
    teachers: dict of the name of each teacher to its `SpanExtractor`, see
      distillation.py. With teachers a question without an answer that is not
      is_impossible teaches what they say of it.

  Returns:
    The number of steps made by this call.
  """
  training_set = training_set_of(extractor, examples, options, bool(teachers))
  return fine_tune_on(
    extractor,
    training_set,
    options,
    output_dir,
    callbacks,
    fingerprint,
    strategy,
    teachers,
  )


def training_set_of(extractor, examples, options, has_teachers=False):
  """The `LabelledWindows` that `fine_tune` makes of its examples."""
  options.num_train_steps(len(examples))  # Too few are told before the work.
  return label_windows(
    examples,
    extractor.preprocessor,
    extractor.head.labels,
    options.annotator_labels,
    options.drop_answerless_windows,
    keep_unlabelled=has_teachers,
  )


def fine_tune_on(
  extractor,
  training_set,
  options,
  output_dir,
  callbacks=(),
  fingerprint=None,
  strategy=None,
  teachers=None,
):
  """Trains an extractor's model on windows that exist already.

  Args:
    extractor: see `fine_tune`.
    training_set: `LabelledWindows` of the extractor's head and window options.
    options: see `fine_tune`.
    output_dir: see `fine_tune`.
    callbacks: see `fine_tune`.
    fingerprint: see `fine_tune`.
    strategy: see `fine_tune`.
    teachers: see `fine_tune`.

  Returns:
    The number of steps made by this call.
  """
  windows = training_set.windows
  fingerprint = {
    **(fingerprint or {}),
    **_fingerprint(extractor, training_set, options, teachers),
  }
  head = extractor.head
  loss = head.make_loss(options)
  loss_fn = head.loss_fn(loss)
  if teachers:
    training_set, loss_fn = _with_teachers(
      extractor,
      training_set,
      loss,
      options,
      teachers,
      os.path.join(own_folder(strategy, output_dir), SOFT_LABELS_FILE),
    )
  num_train_steps = options.num_train_steps(training_set.num_examples)
  num_warmup_steps = options.num_warmup_steps(num_train_steps)
  batches = batches_of(extractor, training_set, options)
  for line in training_set.skipped.lines():
    log_line(line)
  log_line(
    f"{training_set.num_examples} examples, {len(windows)} windows "
    f"({windows.num_without_answer} without an answer), "
    f"{batches.mean_padded_length():.0f} WordPieces a window with padding, "
    f"{num_train_steps} steps of {options.train_batch_size} windows, "
    f"{num_warmup_steps} of them warm-up."
  )
  with scope_of(strategy):
    optimizer = create_optimizer(
      WarmupLinearDecay(
        options.learning_rate,
        num_train_steps,
        num_warmup_steps,
        steps_ahead=int(options.learning_rate_after_step),
      ),
      weight_decay=options.weight_decay,
      bias_correction=options.adam_bias_correction,
    )
  backbone, execution = extractor.model.backbone, options.execution
  with (
    computing_in(backbone, execution.precision),
    recomputing_layers(backbone, execution.recompute),
  ):
    trainer = Trainer(
      extractor.model,
      loss_fn,
      optimizer,
      num_train_steps,
      options,
      output_dir,
      fingerprint=fingerprint,
      callbacks=callbacks,
      strategy=strategy,
      unsummed_embeddings=_unsummed_embeddings(extractor.model, options),
    )
    return trainer.train(batches.dataset)


def batches_of(extractor, training_set, options):
  """The `BucketedBatches` that `fine_tune_on` trains on."""
  return BucketedBatches(
    training_set.windows,
    options.train_batch_size,
    extractor.window_options.max_seq_length,
    options.length_bucket,
    options.seed,
  )


def _unsummed_embeddings(model, options):
  """The paths of the tables that clip_by_unsummed_embeddings is about."""
  if not options.clip_by_unsummed_embeddings:
    return ()
  return (model.backbone.token_embedding.embeddings.path,)


def _with_teachers(extractor, training_set, loss, options, teachers, path):
  """The `LabelledWindows` with soft labels, and the loss of both kinds."""
  check_teachers(extractor, teachers)
  log_line(f"Learning also from {', '.join(teachers)}.")
  temperature = options.distillation_temperature
  taught = with_soft_labels(
    training_set.windows, list(teachers.values()), temperature, path
  )
  return dataclasses.replace(training_set, windows=taught), (
    distillation_loss_fn(
      extractor.head, loss, temperature, options.distillation_weight
    )
  )


def _fingerprint(extractor, training_set, options, teachers):
  """What makes the batches and the loss; the trainer knows the rest."""
  distillation = {}
  if teachers:
    distillation = {
      "teachers_sha256": teachers_digest(teachers.values()),
      "distillation_temperature": options.distillation_temperature,
      "distillation_weight": options.distillation_weight,
    }
  return {
    **distillation,
    "length_bucket": options.length_bucket,
    "loss_reduction": options.loss_reduction,
    "drop_answerless_windows": options.drop_answerless_windows,
    **dataclasses.asdict(extractor.window_options),
    "do_lower_case": extractor.preprocessor.tokenizer.do_lower_case,
    "num_examples": training_set.num_examples,
    "num_windows": len(training_set.windows),
    "windows_sha256": training_set.windows.digest(),
    **extractor.head.fingerprint(options),
  }


def seed_everything(seed):
  """Seeds Python, NumPy and TensorFlow, before a model is built."""
  keras.utils.set_random_seed(seed)
