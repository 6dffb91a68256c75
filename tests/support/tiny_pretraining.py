"""A pre-training of seconds: its text, its batches, its model."""

import dataclasses

import keras
import numpy as np
from tiny_encoder import tiny_config

from bert_span.modeling.encoder import build_encoder
from bert_span.pretraining.batches import PretrainingInput
from bert_span.pretraining.masking import BATCH_KEYS
from bert_span.pretraining.model import PretrainingModel
from bert_span.pretraining.options import MaskingOptions
from bert_span.pretraining.text_sources import TextFile

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
