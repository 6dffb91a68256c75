"""A pre-training of seconds: its input, its model and its options."""

import keras
from corpus import VOCABULARY
from tiny_encoder import tiny_encoder

from bert_span.pretraining.batches import PretrainingInput
from bert_span.pretraining.masking import batch_keys
from bert_span.pretraining.model import PretrainingModel
from bert_span.pretraining.options import MaskingOptions

LENGTH = 12
MASKING = MaskingOptions(max_predictions=2, seed=5)
MAKING = PretrainingInput(VOCABULARY, True, LENGTH, MASKING, chunk_blocks=5)
OPTIONS = {
  "train_batch_size": 4,
  "learning_rate": 2e-3,
  "num_warmup_steps": 2,
  "save_checkpoints_steps": 3,
}


def arrays(batches, first_step, count):
  """Some training batches, from a step on."""
  return list(batches.dataset(first_step).take(count).as_numpy_iterator())


def rows(batches):
  """The sequences of batches, as tuples that can be compared and sorted."""
  return [
    tuple(tuple(batch[key][row].tolist()) for key in batch_keys("masking"))
    for batch in batches
    for row in range(len(batch["input_ids"]))
  ]


def new_model(seed=1):
  keras.utils.set_random_seed(seed)
  sizes = {"hidden_dim": 16, "intermediate_dim": 32}
  sizes |= {"vocabulary_size": len(VOCABULARY), "max_sequence_length": LENGTH}
  return PretrainingModel(tiny_encoder(**sizes))
