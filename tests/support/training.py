"""Trainers of small models, and what they are given."""

import dataclasses
import shutil

import keras
import numpy as np
import tensorflow as tf

from bert_span.data.preprocessor import SpanPreprocessor
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.modeling.encoder import build_encoder
from bert_span.modeling.losses import SpanLoss
from bert_span.pretraining.batches import PretrainingInput
from bert_span.pretraining.masking import BATCH_KEYS
from bert_span.pretraining.model import PretrainingModel
from bert_span.pretraining.options import MaskingOptions
from bert_span.pretraining.text_sources import TextFile
from bert_span.training.fine_tuner import window_loss_fn
from bert_span.training.learning_rate import WarmupLinearDecay
from bert_span.training.loop import Trainer
from bert_span.training.optimizer import BertAdamW
from bert_span.training.options import TrainOptions
from tests.support.models import tiny_config, tiny_encoder

NUM_STEPS = 7
BATCH = 4
_NUM_TOKENS = 20


def make_model(seed=3):
  """A token classifier small enough to train in milliseconds a step."""
  keras.utils.set_random_seed(seed)
  tokens = keras.Input([None], dtype="int32")
  hidden = keras.layers.Embedding(_NUM_TOKENS, 6)(tokens)
  hidden = keras.layers.LayerNormalization(name="layer_norm")(hidden)
  hidden = keras.layers.Dropout(0.3)(hidden)
  pooled = keras.layers.Dense(3, name="pooler")(hidden)
  logits = keras.layers.Dense(1, name="logits")(hidden)
  return keras.Model(tokens, {"logits": logits, "pooled": pooled})


def loss_fn(model, batch):
  logits = model(batch["input_ids"], training=True)["logits"][..., 0]
  return tf.nn.sparse_softmax_cross_entropy_with_logits(
    labels=batch["positions"], logits=logits
  )


def make_batch(step):
  """The batch of a step: other length, other windows, nothing but its step."""
  generator = np.random.default_rng(step)
  length = 3 + step % 4
  ids = generator.integers(0, _NUM_TOKENS, (BATCH, length))
  positions = generator.integers(0, length, BATCH)
  return {
    "input_ids": ids.astype(np.int32),
    "positions": positions.astype(np.int32),
  }


def dataset_fn(first_step, last_step=1000, make=make_batch):
  specs = {
    name: tf.TensorSpec([None] * values.ndim, values.dtype)
    for name, values in make(0).items()
  }
  return tf.data.Dataset.from_generator(
    lambda: map(make, range(first_step, last_step)), output_signature=specs
  )


def make_trainer(
  output_dir,
  model=None,
  rate=0.1,
  callbacks=(),
  num_train_steps=NUM_STEPS,
  **options,
):
  model = model or make_model()
  defaults = {"train_batch_size": BATCH, "save_checkpoints_steps": 2, "seed": 0}
  schedule = WarmupLinearDecay(rate, num_train_steps, 2)
  return Trainer(
    model,
    loss_fn,
    BertAdamW(schedule),
    num_train_steps,
    TrainOptions(**{**defaults, **options}),
    output_dir,
    fingerprint={"max_seq_length": 384},
    callbacks=callbacks,
  )


def all_values(trainer):
  variables = [*trainer.model.variables, *trainer.optimizer.variables]
  return [variable.numpy() for variable in variables]


def assert_same(values, expected):
  for value, other in zip(values, expected, strict=True):
    np.testing.assert_array_equal(value, other)


def copy_stopped(run, stopped, step):
  """Copies the folder of a run as if it had been stopped after a step."""
  shutil.copytree(run, stopped)
  newest = str(stopped / f"model.ckpt-{step}")
  tf.compat.v1.train.update_checkpoint_state(str(stopped), newest, [newest])


STEPS, LENGTH = 5, 12
_VOCABULARY_SIZE = 50
# Of a model of prepared windows, only the classes of labels are needed.
LOSS_FN = window_loss_fn(SpanPreprocessor, SpanLoss())


def make_span_model(dropout=0.0, num_layers=2, **encoder):
  """A model of width 32, the same weights every time."""
  keras.utils.set_random_seed(3)
  backbone = tiny_encoder(
    vocabulary_size=_VOCABULARY_SIZE,
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
    ids = rng.integers(1, _VOCABULARY_SIZE // 3, shape)
    mask = np.arange(length) < rng.integers(4, length + 1, (rows, 1))
    return {
      "token_ids": (ids * mask).astype(np.int32),
      "segment_ids": np.zeros(shape, np.int32),
      "padding_mask": mask.astype(np.int32),
      "start_positions": rng.integers(0, 4, rows).astype(np.int32),
      "end_positions": rng.integers(0, 4, rows).astype(np.int32),
    }

  return dataset_fn(first_step, STEPS, batch)


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


WORDS = [f"{a}{b}" for a in "abcdefgh" for b in "klmnopqr"]
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, "##s"]
PRETRAINING_INPUT = PretrainingInput(
  VOCABULARY,
  lower_case=True,
  max_seq_length=12,
  masking=MaskingOptions(max_predictions=2, seed=5),
  chunk_blocks=5,
)
SIZES = tiny_config(
  vocabulary_size=23, intermediate_dim=12, max_sequence_length=16
)


def write_corpus(folder, num_files=3, documents=12):
  """Files of documents of short sentences; returns their sources."""
  rng = np.random.default_rng(0)
  sources = []
  for number in range(num_files):
    path = folder / f"{number}.txt"
    with open(path, "w") as file:
      for _ in range(documents):
        for _ in range(rng.integers(1, 6)):
          print(*rng.choice(WORDS, rng.integers(1, 8)), file=file)
        print(file=file)
    sources.append(TextFile(str(path)))
  return sources


def arrays(batches, first_step, count):
  """Some training batches, from a step on."""
  return list(batches.dataset(first_step).take(count).as_numpy_iterator())


def rows(batches):
  """The sequences of batches, as tuples that can be compared and sorted."""
  return [
    tuple(tuple(batch[key][row].tolist()) for key in BATCH_KEYS)
    for batch in batches
    for row in range(len(batch["input_ids"]))
  ]


def tiny_model(span_boundary=True, seed=1, dropout=0.1):
  """A PretrainingModel all of whose weights are random and not small."""
  keras.utils.set_random_seed(seed)
  sizes = dataclasses.replace(SIZES, dropout=dropout, attention_dropout=dropout)
  model = PretrainingModel(build_encoder(sizes), span_boundary)
  rng = np.random.default_rng(seed)
  for weight in model.weights:
    weight.assign(rng.normal(0.0, 0.5, weight.shape))
  return model


def tiny_batch(batch_size=3, seed=2):
  """A batch of random masked sequences for `tiny_model`.

  The last target of the first row is padding. The first target of every row is
  not one of the span boundary objective.
  """
  rng = np.random.default_rng(seed)
  shape = (batch_size, 5)
  is_target = np.ones(shape, np.int32)
  is_target[0, -1] = 0
  has_sbo = is_target.copy()
  has_sbo[:, 0] = 0
  mask = np.ones((batch_size, 12), np.int32)
  mask[-1, 6:] = 0
  return {
    "input_ids": rng.integers(5, SIZES.vocabulary_size, mask.shape, np.int32),
    "input_mask": mask,
    "masked_positions": rng.integers(1, 6, shape, np.int32) * is_target,
    "masked_ids": rng.integers(5, SIZES.vocabulary_size, shape, np.int32),
    "sbo_lefts": rng.integers(1, 4, shape, np.int32) * has_sbo,
    "sbo_rights": rng.integers(4, 6, shape, np.int32) * has_sbo,
    "sbo_positions": rng.integers(1, 16, shape, np.int32) * has_sbo,
  }
