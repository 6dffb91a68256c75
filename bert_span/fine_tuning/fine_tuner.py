"""Fine-tuning of a span model: examples in, trained weights out."""

import dataclasses
import os

from bert_span.data.labelled_windows import label_windows
from bert_span.data.length_buckets import BucketedBatches
from bert_span.fine_tuning.distillation import (
  SOFT_LABELS_FILE,
  check_teachers,
  distillation_loss_fn,
  teachers_digest,
  with_soft_labels,
)
from bert_span.storage.log import log_line
from bert_span.training.loop import Trainer
from bert_span.training.optimizer import make_optimizer
from bert_span.training.strategy import own_folder


def training_set_of(extractor, examples, options, has_teachers=False):
  """The `LabelledWindows` of examples; teachers use unlabelled ones, too."""
  options.num_train_steps(len(examples))  # Refuses too few before the work.
  return label_windows(
    examples,
    extractor.preprocessor,
    extractor.head.labels,
    options.annotator_labels,
    options.drop_answerless_windows,
    keep_unlabelled=has_teachers,
  )


def batches_of(extractor, training_set, options):
  """The `BucketedBatches` that `fine_tune` trains on."""
  return BucketedBatches(
    training_set.windows,
    options.train_batch_size,
    extractor.window_options.max_seq_length,
    options.length_bucket,
    options.seed,
  )


def keras_batches(extractor, examples, options):
  """The batches that `fine_tune` trains on, as keras.Model.fit takes them.

  Returns an endless tf.data.Dataset of pairs of dicts, by the names of the
  model's inputs and outputs: int32 [batch, seq_length]; and labels, int32
  [batch], or for tag_logits float32 [batch, seq_length, 3]. See
  docs/fine_tuning.md, "In Python".
  """
  training_set = training_set_of(extractor, examples, options)
  batches = batches_of(extractor, training_set, options)
  return batches.dataset(first_step=0).map(extractor.head.inputs_and_labels)


def fine_tune(
  extractor,
  training_set,
  options,
  output_dir,
  callbacks=(),
  fingerprint=None,
  strategy=None,
  teachers=None,
):
  """Trains an extractor's model on its `LabelledWindows`, in a locked folder.

  `fingerprint` has further JSON values that must not change within the run. For
  callbacks and strategy see `Trainer`. Returns the steps made by this call.
  """
  model, head = extractor.model, extractor.head
  # What decides the batches and the loss; the trainer adds the rest.
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
    **head.fingerprint(options),
  }
  loss, windows = head.make_loss(options), training_set.windows
  loss_fn = head.loss_fn(loss)
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
    path = os.path.join(own_folder(strategy, output_dir), SOFT_LABELS_FILE)
    windows = with_soft_labels(windows, [*teachers.values()], temperature, path)
    loss_fn = distillation_loss_fn(head, loss, temperature, weight)
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
  optimizer = make_optimizer(
    options,
    (num_train_steps, num_warmup_steps, int(options.learning_rate_after_step)),
    strategy,
    layer_decay=options.layer_decay,
    use_ema=options.ema_momentum > 0,
    ema_momentum=options.ema_momentum,
  )
  table = model.backbone.token_embedding.embeddings.path
  trainer = Trainer(
    model,
    loss_fn,
    optimizer,
    num_train_steps,
    options,
    output_dir,
    fingerprint=fingerprint,
    callbacks=callbacks,
    strategy=strategy,
    unsummed_embeddings=[table] if options.clip_by_unsummed_embeddings else [],
  )
  return trainer.train(batches.dataset)
