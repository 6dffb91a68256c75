"""A small random model for pre-training, and a batch for it."""

import dataclasses

import keras
import numpy as np
from tiny_encoder import tiny_config

from bert_span.modeling.encoder import build_encoder
from bert_span.pretraining.model import PretrainingModel

VOCABULARY_SIZE = 23
SIZES = tiny_config(
  vocabulary_size=VOCABULARY_SIZE, intermediate_dim=12, max_sequence_length=16
)


def tiny_model(span_boundary=True, seed=1, dropout=0.1, objective="masking"):
  """A PretrainingModel all of whose weights are random and not small."""
  keras.utils.set_random_seed(seed)
  sizes = dataclasses.replace(SIZES, dropout=dropout, attention_dropout=dropout)
  model = PretrainingModel(build_encoder(sizes), span_boundary, objective)
  rng = np.random.default_rng(seed)
  for weight in model.weights:
    weight.assign(rng.normal(0.0, 0.5, weight.shape))
  return model


def tiny_batch(batch_size=3, seed=2):
  """A batch of random masked sequences.

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
    "input_ids": rng.integers(5, VOCABULARY_SIZE, mask.shape, np.int32),
    "input_mask": mask,
    "masked_positions": rng.integers(1, 6, shape, np.int32) * is_target,
    "masked_ids": rng.integers(5, VOCABULARY_SIZE, shape, np.int32),
    "sbo_lefts": rng.integers(1, 4, shape, np.int32) * has_sbo,
    "sbo_rights": rng.integers(4, 6, shape, np.int32) * has_sbo,
    "sbo_positions": rng.integers(1, 16, shape, np.int32) * has_sbo,
  }


def encoder_inputs(batch):
  """What the backbone of a PretrainingModel is called with."""
  ids, mask = batch["input_ids"], batch["input_mask"]
  return {"token_ids": ids, "segment_ids": ids * 0, "padding_mask": mask}
