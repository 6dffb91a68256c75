"""Short trainings of a small span model, on the devices of any strategy."""

import functools

import keras
import numpy as np
import tensorflow as tf
from tiny_encoder import tiny_encoder
from toy_trainer import dataset_fn

import bert_span  # noqa: F401 -- chooses Keras' backend before keras loads
from bert_span.data.preprocessor import SpanPreprocessor
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.modeling.losses import SpanLoss
from bert_span.training.fine_tuner import window_loss_fn
from bert_span.training.learning_rate import WarmupLinearDecay
from bert_span.training.loop import Trainer
from bert_span.training.optimizer import BertAdamW
from bert_span.training.options import ExecutionOptions, TrainOptions

VOCAB, STEPS, LENGTH = 50, 5, 12
# Of a model of prepared windows, only the classes of labels are needed.
LOSS_FN = window_loss_fn(SpanPreprocessor, SpanLoss())


def make_model(dropout=0.0, num_layers=2, **encoder):
  """A model of width 32, the same weights every time."""
  keras.utils.set_random_seed(3)
  backbone = tiny_encoder(
    vocabulary_size=VOCAB,
    num_layers=num_layers,
    hidden_dim=32,
    intermediate_dim=64,
    max_sequence_length=LENGTH,
    dropout=dropout,
    attention_dropout=dropout,
    **encoder,
  )
  return SpanExtractor(backbone)


def batches(batch_size, first_step):
  """The batches from a step on, of one size or of a size for each step."""

  def batch(step):
    rng = np.random.default_rng(step)
    length = LENGTH - step % 2
    rows = batch_size if isinstance(batch_size, int) else batch_size[step]
    shape = (rows, length)
    ids = rng.integers(1, VOCAB // 3, shape)
    mask = np.arange(length) < rng.integers(4, length + 1, (rows, 1))
    return {
      "token_ids": (ids * mask).astype(np.int32),
      "segment_ids": np.zeros(shape, np.int32),
      "padding_mask": mask.astype(np.int32),
      "start_positions": rng.integers(0, 4, rows).astype(np.int32),
      "end_positions": rng.integers(0, 4, rows).astype(np.int32),
    }

  return dataset_fn(first_step, STEPS, batch)


class Run:
  """One training, and what it left."""

  def __init__(
    self,
    folder,
    strategy,
    batch_size=6,
    dropout=0.0,
    loss_fn=LOSS_FN,
    unsummed=False,
    layer_decay=1.0,
    name=None,
    architecture="bert",
    **execution,
  ):
    with strategy.scope():
      self.model = make_model(dropout, 1, architecture=architecture)
      self.optimizer = BertAdamW(
        WarmupLinearDecay(1e-2, STEPS, 1),
        layer_decay=layer_decay,
      )
    before = compared_weights(self.model)
    table = self.model.backbone.token_embedding.embeddings.path
    folder = folder / (name or f"run{len(list(folder.iterdir()))}")
    self.trainer = Trainer(
      self.model,
      loss_fn,
      self.optimizer,
      STEPS,
      TrainOptions(
        train_batch_size=np.max(batch_size).item(),
        clip_norm=0.1,
        iterations_per_loop=1,
        seed=0,
        execution=ExecutionOptions(**execution),
      ),
      folder,
      strategy=strategy,
      unsummed_embeddings=(table,) if unsummed else (),
    )
    self.trainer.train(functools.partial(batches, batch_size))
    self.events = read_events(folder)
    self.weights = compared_weights(self.model)
    self.moved = max_difference(before, self.weights)


def compared_weights(model):
  """Dict of the weights that have a gradient.

  Not the bias of the keys, the last LayerNorm's beta and the head's bias: they
  add the same to all that a softmax compares, so their gradient is rounding.
  """
  left_out = (
    *("key/bias", "feedforward_layer_norm/beta", "span_head/bias"),
    *("pooled_dense/kernel", "pooled_dense/bias"),
  )
  return {
    weight.path: weight.numpy() + np.float32(0)
    for weight in model.weights
    if not weight.path.endswith(left_out)
  }


def read_events(folder, name="train"):
  """Dict from a curve's name to its list of values."""
  curves = {}
  for path in sorted((folder / name).glob("events.out.tfevents.*")):
    for record in tf.data.TFRecordDataset(str(path)):
      event = tf.compat.v1.Event.FromString(record.numpy())
      for value in event.summary.value:
        number = float(tf.make_ndarray(value.tensor))
        curves.setdefault(value.tag, []).append(number)
  return curves


def max_difference(expected, run):
  """Largest norm of a difference, as a share of the variable's norm."""
  norm, smallest = np.linalg.norm, np.finfo(np.float32).tiny
  differences = [  # A variable may be all zeros.
    norm(values - run[path]) / max(norm(run[path]), smallest)
    for path, values in expected.items()
  ]
  return float(np.max(differences))  # max() may pass over NaN.
