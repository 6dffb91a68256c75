r"""Measures attention to near tokens in blocks, against a masked matrix.

  python -m benchmarks.local_attention [--lengths=64,384,2048,8192] [--rounds=5]

Smallest setting:
  python -m benchmarks.local_attention --lengths=200 --rounds=1

The attention of a local layer of ModernBERT-base: 12 heads of 64 numbers, a
window of 128 tokens. `attend` computes it in blocks; the other side computes
the scores of all pairs of tokens, and masks those of far ones. They take turns.
Prints for each length the medians in milliseconds of processor time, which
other programs on the machine change little, their ratio and the largest
difference.
"""

import statistics
import time

import numpy as np
from absl import flags

from benchmarks.inputs import count_flag
from benchmarks.tables import print_head, print_row
from bert_span.cli import program

_LENGTHS = flags.DEFINE_list(
  "lengths", ["64", "160", "384", "2048", "8192"], "Tokens to measure."
)
_ROUNDS = count_flag("rounds", 5, "Calls of each side at each length.")
_NUM_HEADS, _HEAD_SIZE, _WINDOW = 12, 64, 128


def main(argv):
  """Measures all lengths."""
  import tensorflow as tf

  from bert_span.modeling.modernbert_layers import attend

  def in_blocks(query, key, value, mask):
    return attend(query, key, value, mask, _WINDOW)

  def masked(query, key, value, mask):
    places = tf.range(tf.shape(query)[2])
    is_near = tf.abs(places[:, tf.newaxis] - places) <= _WINDOW // 2
    is_seen = is_near & (mask[:, tf.newaxis, tf.newaxis] > 0)
    query *= _HEAD_SIZE**-0.5
    scores = tf.matmul(query, key, transpose_b=True)
    weights = tf.nn.softmax(scores + tf.where(is_seen, 0.0, -1e9))
    return tf.matmul(weights, value)

  vectors = tf.TensorSpec([None, _NUM_HEADS, None, _HEAD_SIZE])
  signature = [vectors] * 3 + [tf.TensorSpec([None, None], tf.int32)]
  sides = [
    tf.function(side, input_signature=signature, autograph=False)
    for side in (in_blocks, masked)
  ]
  print_head("tokens", "blocks", "matrix", "matrix / blocks", "difference")
  for length in map(int, _LENGTHS.value):
    shape = [3, 1, _NUM_HEADS, length, _HEAD_SIZE]
    numbers = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    inputs = [*map(tf.constant, numbers), tf.ones([1, length], tf.int32)]
    ours, theirs = (side(*inputs).numpy() for side in sides)  # warm-up
    times = [], []
    for _ in range(_ROUNDS.value):
      for side, seconds in zip(sides, times, strict=True):
        begin = time.process_time()
        side(*inputs).numpy()
        seconds.append(time.process_time() - begin)
    blocks, matrix = (1e3 * statistics.median(each) for each in times)
    print_row(
      length,
      *(f"{value:.1f}" for value in (blocks, matrix)),
      f"{matrix / max(blocks, 1e-6):.2f}",
      f"{np.max(np.abs(ours - theirs)):.0e}",
    )


if __name__ == "__main__":
  program.run_program(main)
