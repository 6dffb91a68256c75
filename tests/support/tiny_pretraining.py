"""A small random model for pre-training, and a batch for it."""

import keras
import numpy as np

from bert_span.modeling.encoder import build_encoder
from bert_span.modeling.encoder_config import EncoderConfig
from bert_span.pretraining.heads.model import PretrainingModel

VOCABULARY_SIZE = 23
SIZES = EncoderConfig(
  vocabulary_size=VOCABULARY_SIZE,
  num_layers=1,
  num_heads=2,
  hidden_dim=8,
  intermediate_dim=12,
  max_sequence_length=16,
  num_segments=2,
)


def tiny_model(span_boundary=True, seed=1, sizes=SIZES):
  """A PretrainingModel all of whose weights are random and not small."""
  keras.utils.set_random_seed(seed)
  model = PretrainingModel(build_encoder(sizes), span_boundary)
  rng = np.random.default_rng(seed)
  for weight in model.weights:
    weight.assign(rng.normal(0.0, 0.5, weight.shape))
  return model


def tiny_batch(batch_size=3, seq_length=12, targets=5, seed=2):
  """A batch as the data room gives it, its weights not yet scaled.

  The last target of the first row is padding, and of every row the first
  target is none of the span boundary objective.
  """
  rng = np.random.default_rng(seed)
  shape = (batch_size, targets)
  mlm_weights = np.ones(shape, np.float32)
  mlm_weights[0, -1] = 0
  sbo_weights = mlm_weights.copy()
  sbo_weights[:, 0] = 0
  mask = np.ones((batch_size, seq_length), np.int32)
  mask[-1, seq_length // 2 :] = 0
  has_sbo = sbo_weights.astype(np.int32)
  return {
    "input_ids": rng.integers(
      5, VOCABULARY_SIZE, (batch_size, seq_length), dtype=np.int32
    ),
    "input_mask": mask,
    "masked_positions": rng.integers(1, seq_length // 2, shape, np.int32),
    "masked_ids": rng.integers(5, VOCABULARY_SIZE, shape, np.int32),
    "mlm_weights": mlm_weights,
    "sbo_lefts": rng.integers(1, 4, shape, np.int32) * has_sbo,
    "sbo_rights": rng.integers(4, 6, shape, np.int32) * has_sbo,
    "sbo_positions": rng.integers(1, 16, shape, np.int32) * has_sbo,
    "sbo_weights": sbo_weights,
  }


def model_inputs(batch):
  """The inputs of a PretrainingModel out of a batch."""
  return {
    "token_ids": batch["input_ids"],
    "padding_mask": batch["input_mask"],
    **{
      name: batch[name]
      for name in (
        "masked_positions",
        "sbo_lefts",
        "sbo_rights",
        "sbo_positions",
      )
    },
  }
