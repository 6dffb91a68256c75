"""Training steps of random models on random windows, for measurements."""

import itertools
import tempfile
import time

import tensorflow as tf

from bert_span.data.preprocessor import SpanPreprocessor
from bert_span.modeling.encoder import encoder_config
from bert_span.modeling.losses import SpanLoss
from bert_span.pretraining.loss import pretraining_loss_fn
from bert_span.training.callbacks import Callback
from bert_span.training.fine_tuner import window_loss_fn
from bert_span.training.loop import Trainer
from bert_span.training.optimizer import BertAdamW
from bert_span.training.options import TrainOptions


def train_on_random_windows(
  model, batch_size, length, steps, execution, callback, targets=0
):
  """Trains with the loop of run_squad or run_pretraining.

  Args:
    model: with span or pre-training heads.
    batch_size: windows in a batch.
    length: WordPieces of a window.
    steps: updates.
    execution: `ExecutionOptions`.
    callback: `Callback` of the training loop.
    targets: masked WordPieces of a window; 0 is fine-tuning.
  """
  num_tokens = encoder_config(model.backbone).vocabulary_size
  with tempfile.TemporaryDirectory() as output_dir:
    Trainer(
      model,
      pretraining_loss_fn(1.0)
      if targets
      else window_loss_fn(SpanPreprocessor, SpanLoss()),
      BertAdamW(1e-5),
      steps,
      TrainOptions(train_batch_size=batch_size, execution=execution),
      output_dir,
      callbacks=[callback],
    ).train(
      lambda unused_step: _batches(batch_size, length, targets, num_tokens)
    )


def seconds_per_step(model, batch_size, length, steps, execution, targets=0):
  """Returns the mean seconds of a step of training, without the first two."""
  times = []  # the end of each step

  class StepClock(Callback):
    name = "clock"

    def is_due(self, step):
      return True

    def on_step(self, step):
      times.append(time.monotonic())

  train_on_random_windows(
    model, batch_size, length, steps, execution, StepClock(), targets
  )
  gaps = [after - before for before, after in itertools.pairwise(times)]
  return sum(gaps[1:]) / len(gaps[1:])


def _batches(batch_size, length, num_targets, num_tokens):
  """Returns endless batches of random numbers, as the programs make them."""
  tokens, targets = [batch_size, length], [batch_size, num_targets]
  ids, mask = "token_ids", "padding_mask"
  if num_targets:  # the names of the original's records
    ids, mask = "input_ids", "input_mask"
  # Name -> shape and exclusive upper bound.
  numbers = {
    ids: (tokens, num_tokens),
    "segment_ids": (tokens, 2),
    "start_positions": ([batch_size], length),
    "end_positions": ([batch_size], length),
  }
  ones = {mask: tf.ones(tokens, tf.int32)}
  if num_targets:  # TensorFlow crashes when it unbatches empty tensors.
    numbers |= {
      "masked_ids": (targets, num_tokens),
      "masked_positions": (targets, length),
      "sbo_lefts": (targets, length),
      "sbo_rights": (targets, length),
      "sbo_positions": (targets, 10),
    }
    ones |= {"mlm_weights": tf.ones(targets), "sbo_weights": tf.ones(targets)}

  def batch_of(step):
    seed = tf.stack([tf.constant(1, tf.int64), step])
    batch = {
      name: tf.random.stateless_uniform(shape, seed, 0, most, tf.int32)
      for name, (shape, most) in numbers.items()
    }
    return {**batch, **ones}

  return tf.data.Dataset.counter(dtype=tf.int64).map(batch_of).prefetch(1)
