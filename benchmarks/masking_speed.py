r"""Measures how many sequences per second one core masks for pre-training.

  python -m benchmarks.masking_speed --vocab_file=vocab.txt

The text is random WordPieces, since masking depends only on where words begin.
Counts process time, which other work on the machine hardly changes.
"""

import dataclasses
import time

import numpy as np
from absl import flags

from bert_span.cli import program
from bert_span.pretraining.batches import PretrainingInput
from bert_span.pretraining.options import MaskingOptions
from bert_span.text.vocabulary import load_vocabulary

_VOCAB_FILE = flags.DEFINE_string(
  "vocab_file", None, "Vocabulary, vocab.txt.", required=True
)
_NUM_SEQUENCES = flags.DEFINE_integer(
  "num_sequences", 2000, "Sequences to mask.", lower_bound=1
)
_BATCH_SIZE = 32


def main(argv):
  """Measures all kinds of masking at two lengths."""
  vocabulary = load_vocabulary(_VOCAB_FILE.value)
  for max_seq_length in (128, 512):
    for masking in ("span", "word", "subword"):
      speed = sequences_per_second(vocabulary, masking, max_seq_length)
      print(f"{masking:8} {max_seq_length:4} {speed:8.0f} sequences/s per core")


def sequences_per_second(vocabulary, masking, max_seq_length):
  """Masks full sequences and batches them."""
  num_tokens = max_seq_length - 2
  options = MaskingOptions(masking=masking)
  options = dataclasses.replace(
    options, max_predictions=options.budget(num_tokens)
  )
  making = PretrainingInput(vocabulary, True, max_seq_length, options)
  rng = np.random.default_rng(0)
  texts = rng.integers(
    999, len(vocabulary), (_BATCH_SIZE, num_tokens), np.int32
  )
  started = time.process_time()
  for first in range(0, _NUM_SEQUENCES.value, _BATCH_SIZE):
    numbered = enumerate(texts, first)
    making.arrays([making.mask(text, 0, number) for number, text in numbered])
  batches = -(-_NUM_SEQUENCES.value // _BATCH_SIZE)
  return batches * _BATCH_SIZE / (time.process_time() - started)


if __name__ == "__main__":
  program.run_program(main)
