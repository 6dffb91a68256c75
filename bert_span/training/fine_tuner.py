"""Fine-tunes an extractor on examples."""

import dataclasses
import itertools
import os
import tempfile

from bert_span.data.labelled_windows import label_windows
from bert_span.data.length_buckets import BucketedBatches
from bert_span.modeling.architectures import architecture_of
from bert_span.modeling.encoder import check_precision
from bert_span.squad.example import NOT_LOCATED, check_located
from bert_span.squad.rules import examples_to_learn
from bert_span.storage.log import log_line
from bert_span.training.callbacks import Callback
from bert_span.training.distillation import (
  SOFT_LABELS_FILE,
  check_teachers,
  distillation_loss_fn,
  teachers_digest,
  with_soft_labels,
)
from bert_span.training.fine_tuning_options import FineTuningOptions
from bert_span.training.learning_rate import WarmupLinearDecay
from bert_span.training.loop import Trainer
from bert_span.training.optimizer import make_optimizer
from bert_span.training.run_folder import locked_folder
from bert_span.training.strategy import worker_folder


def fine_tune(
  extractor, examples, options=None, output_dir=None, teachers=None
):
  """Trains an extractor as run_squad does, and resumes exactly.

  Unlike `fit` it has run_squad's update on any number of devices, one norm over
  all gradients, batches of windows of similar length, and checkpoints from
  which a run continues bit for bit. As `fit`, it resets options that were
  fitted to the old weights, see `Extractor.note_training`.

  Args:
    extractor: `SpanExtractor` or `BioExtractor`.
    examples: `SquadExample`s, or a `SquadFile`. A span head learns the first
      answer that is in the passage, or none if `is_impossible`; a B/I/O head
      the answers of all annotators. Questions without an answer to learn are
      skipped and logged, as run_squad does.
    options: `FineTuningOptions`; None uses run_squad's defaults.
    output_dir: folder of checkpoints and event files. A later call with the
      same arguments resumes there. None keeps no files.
    teachers: dict of extractors by name; the model learns their outputs, too,
      see training/distillation.py.

  Returns:
    The number of steps of this call.

  Raises:
    ValueError: the examples, options or teachers do not fit the model.
  """
  options = options or FineTuningOptions()
  examples = _checked_examples(extractor, examples, bool(teachers))
  training_set = label_training_windows(
    extractor, examples, options, bool(teachers)
  )
  with tempfile.TemporaryDirectory() as temporary:
    folder = temporary if output_dir is None else output_dir
    with locked_folder(folder):
      return train_on(
        extractor,
        training_set,
        options,
        folder,
        teachers=teachers,
        saves_checkpoints=output_dir is not None,
        clears_fitted=True,
      )


def label_training_windows(extractor, examples, options, has_teachers=False):
  """Returns the `LabelledWindows` of examples.

  With `has_teachers` questions without labels are kept.
  """
  # Refuse too few examples, and a precision that the encoder lacks, first.
  options.num_train_steps(len(examples))
  architecture = architecture_of(extractor.backbone)
  check_precision(architecture, options.execution.precision)
  return label_windows(
    examples,
    extractor.preprocessor,
    options.annotator_labels,
    options.drop_answerless_windows,
    keep_unlabelled=has_teachers,
  )


def batches_of(extractor, training_set, options):
  """Returns the `BucketedBatches` that `train_on` trains on."""
  return BucketedBatches(
    training_set.windows,
    options.train_batch_size,
    extractor.window_options.max_seq_length,
    options.length_bucket,
    options.seed,
  )


def training_batches(extractor, examples, options):
  """Returns the batches that `fine_tune` trains on, for keras.Model.fit.

  Returns an endless tf.data.Dataset of pairs of dicts: the model's inputs,
  int32 [batch, seq_length], and labels by the names of its outputs, int32
  [batch], or for tag_logits float32 [batch, seq_length, 3]. An extractor whose
  preprocessor is None takes them, see docs/fine_tuning.md, "In Python".
  """
  examples = _checked_examples(extractor, examples)
  training_set = label_training_windows(extractor, examples, options)
  batches = batches_of(extractor, training_set, options).dataset(first_step=0)
  return batches.map(extractor.preprocessor.inputs_and_labels)


def window_loss_fn(preprocessor, loss):
  """Returns a function of (model, batch) to losses of `make_loss`, [batch].

  `preprocessor` is the preprocessor of the batches, or its class.
  """

  def window_losses(model, batch):
    inputs, labels = preprocessor.inputs_and_labels(batch)
    logits = model(inputs, training=True)
    return sum(loss.call(labels[name], logits[name]) for name in labels)

  return window_losses


def train_on(
  extractor,
  training_set,
  options,
  output_dir,
  callbacks=(),
  fingerprint=None,
  strategy=None,
  teachers=None,
  saves_checkpoints=True,
  clears_fitted=False,
):
  """Trains an extractor on its `LabelledWindows`, in a locked folder.

  `fingerprint` has further JSON values that must not change within the run. For
  callbacks, strategy and saves_checkpoints see `Trainer`, for clears_fitted
  `Extractor.note_training`. Returns the steps made by this call.
  """
  extractor.follow_encoder()
  # Values that determine batches and loss; the trainer adds the others.
  fingerprint = {
    **(fingerprint or {}),
    "length_bucket": options.length_bucket,
    "loss_reduction": options.loss_reduction,
    "drop_answerless_windows": options.drop_answerless_windows,
    **dataclasses.asdict(extractor.window_options),
    "do_lower_case": extractor.preprocessor.tokenizer.do_lower_case,
    "num_examples": training_set.num_examples,
    "num_windows": len(training_set.windows),
    "windows_sha256": training_set.windows.digest(),
    **_annotator_options(extractor, options),
  }
  loss, windows = extractor.make_loss(options), training_set.windows
  loss_fn = window_loss_fn(extractor.preprocessor, loss)
  if teachers:
    check_teachers(extractor, teachers)
    log_line(f"Learning also from {', '.join(teachers)}.")
    temperature = options.distillation_temperature
    weight = options.distillation_weight
    fingerprint |= {
      "teachers_sha256": teachers_digest(teachers.values()),
      "distillation_temperature": temperature,
      "distillation_weight": weight,
    }
    path = os.path.join(worker_folder(strategy, output_dir), SOFT_LABELS_FILE)
    windows = with_soft_labels(windows, [*teachers.values()], temperature, path)
    loss_fn = distillation_loss_fn(extractor, loss, temperature, weight)
  training_set = training_set._replace(windows=windows)
  num_train_steps = options.num_train_steps(training_set.num_examples)
  num_warmup_steps = options.num_warmup_steps(num_train_steps)
  batches = batches_of(extractor, training_set, options)
  log_line(
    *training_set.skipped.lines(),
    f"{training_set.num_examples} examples, {len(windows)} windows "
    f"({windows.num_without_answer} without an answer), "
    f"{batches.mean_padded_length():.0f} WordPieces a window with padding, "
    f"{num_train_steps} steps of {options.train_batch_size} windows, "
    f"{num_warmup_steps} of them warm-up.",
  )
  schedule = WarmupLinearDecay(
    options.learning_rate,
    num_train_steps,
    num_warmup_steps,
    steps_ahead=int(options.learning_rate_after_step),
  )
  optimizer = make_optimizer(
    options, schedule, strategy, layer_decay=options.layer_decay
  )
  table = f"{extractor.backbone.token_embedding.path}/embeddings"
  trainer = Trainer(
    extractor,
    loss_fn,
    optimizer,
    num_train_steps,
    options,
    output_dir,
    fingerprint=fingerprint,
    callbacks=[_FirstStep(extractor, clears_fitted), *callbacks],
    strategy=strategy,
    saves_checkpoints=saves_checkpoints,
    unsummed_embeddings=[table] if options.clip_by_unsummed_embeddings else [],
  )
  return trainer.train(batches.dataset)


def _annotator_options(extractor, options):
  """JSON values that labels and loss of several annotators depend on."""
  if not extractor.preprocessor.every_annotator:
    return {}
  weights = options.bio_class_weights
  return {
    "head": extractor.head_name,
    "annotator_labels": options.annotator_labels,
    "bio_loss_reduction": options.bio_loss_reduction,
    "bio_class_weights": list(weights) if weights else None,
  }


class _FirstStep(Callback):
  """Notes the training once a step is made, here or in a restored run."""

  def __init__(self, extractor, clears_fitted):
    self._note = lambda: extractor.note_training(clears_fitted)
    self._is_noted = False

  def is_due(self, step):
    return step > 0 and not self._is_noted

  def on_step(self, step):
    self._is_noted = True
    self._note()


def _checked_examples(extractor, examples, has_teachers=False):
  """Returns `examples_to_learn`; refuses answers with a wrong offset."""
  extractor.check_preprocessor()
  every_annotator = extractor.preprocessor.every_annotator
  examples = examples_to_learn(examples, every_annotator, has_teachers)
  for example in examples:
    learned = example.answers
    if every_annotator:
      # Spans that the reader could not locate have no labels.
      spans = itertools.chain(*example.annotators)
      learned = [span for span in spans if span.char_start != NOT_LOCATED]
    for answer in learned:
      place = f"question {example.qas_id}"
      check_located(example.context, answer.text, answer.char_start, place)
  return examples
