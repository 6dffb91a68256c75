"""A pre-training of seconds: its model, its options and its batches."""

import keras
from corpus import VOCABULARY, stream_of, write_corpus
from tiny_encoder import tiny_encoder

from bert_span.pretraining.batches import TextBatches
from bert_span.pretraining.block_stream import ChunkPlaces
from bert_span.pretraining.masking import SequenceMasker
from bert_span.pretraining.model import PretrainingModel
from bert_span.pretraining.options import MaskingOptions

LENGTH = 12


MASKING = MaskingOptions(max_predictions=2, seed=5)


OPTIONS = {
  "train_batch_size": 4,
  "learning_rate": 2e-3,
  "num_warmup_steps": 2,
  "save_checkpoints_steps": 5,
}


def new_model(seed=1):
  keras.utils.set_random_seed(seed)
  sizes = {"hidden_dim": 16, "intermediate_dim": 32}
  sizes |= {"vocabulary_size": len(VOCABULARY), "max_sequence_length": LENGTH}
  return PretrainingModel(tiny_encoder(**sizes))


def batches_of(folder, output_dir):
  output_dir.mkdir(exist_ok=True)
  return TextBatches(
    stream_of(write_corpus(folder), 5),
    SequenceMasker(VOCABULARY, MASKING),
    4,
    ChunkPlaces(str(output_dir / "places.jsonl"), "key"),
  )
