r"""Training speed on an accelerator: this model in two runtimes, and a peer.

  python -m benchmarks.accelerator_training
  python -m benchmarks.accelerator_training --shapes=minilm --steps=20 \
    --sides=jax,transformers --peak_tflops=989

Sides: `tensorflow`, the step of run_squad; `jax`, the same model and loss under
Keras' JAX backend; `transformers`, BertForQuestionAnswering in PyTorch. Each
side trains on the same random batches, in its own process, one after the other
on the same device. Windows have 384 WordPieces (`full`), or SQuAD's lengths
padded to multiples of 32 (`buckets`). Prints a table with a row for each case:
windows per second by the median update and, with --peak_tflops (of the device
and precision, in 10^12 operations per second), the share of it that the matrix
products reach. Sides whose packages are missing are named and skipped.
"""

import itertools
import json
import statistics
import subprocess

from absl import flags

from benchmarks import random_models, training_sides
from benchmarks.inputs import check_known
from benchmarks.repetitions import measured_apart, repeated_seconds
from benchmarks.tables import print_head, print_row
from bert_span.cli import program

_SIDES = flags.DEFINE_list(
  "sides", list(training_sides.SIDES), "Sides to measure."
)
_SHAPES = flags.DEFINE_list(
  "shapes", ["minilm", "base", "large"], "Encoders: minilm, base, large."
)
_PRECISIONS = flags.DEFINE_list(
  "precisions", ["float32", "bfloat16"], "Precisions of matrix products."
)
_LENGTHS = flags.DEFINE_list(
  "lengths", ["full", "buckets"], "full (--max_seq_length) or buckets."
)
_MAX_SEQ_LENGTH = flags.DEFINE_integer(
  "max_seq_length", 384, "WordPieces of the longest windows.", lower_bound=32
)
_BATCH_SIZE = flags.DEFINE_integer(
  "batch_size", 32, "Windows per batch.", lower_bound=1
)
_STEPS = flags.DEFINE_integer(
  "steps", 30, "Measured updates per case.", lower_bound=1
)
_PEAK_TFLOPS = flags.DEFINE_float(
  "peak_tflops", None, "Peak of the device in 10^12 operations per second."
)
_CASE = flags.DEFINE_string(
  "case", None, "One case to measure: side,shape,precision,lengths."
)
# Share of windows by padded length: 44 articles of SQuAD 1.1 at 384/128/64.
_SHARES = {
  64: 0.043,
  96: 0.128,
  128: 0.191,
  160: 0.201,
  192: 0.160,
  224: 0.100,
  256: 0.064,
  288: 0.047,
  320: 0.030,
  352: 0.016,
  384: 0.020,
}
_COLUMNS = (
  *("model", "precision", "lengths", "side", "device"),
  *("windows/s", "ms per update", "spread", "of peak"),
)


def main(argv):
  """Measures each case in its own process, or the one of --case."""
  for holder, known in (
    (_SIDES, training_sides.SIDES),
    (_SHAPES, random_models.SHAPES),
    (_PRECISIONS, ("float32", "bfloat16")),
    (_LENGTHS, ("full", "buckets")),
  ):
    check_known(holder, known)
  if _CASE.value:
    print(json.dumps(_measure(*_CASE.value.split(","))))
    return
  print_head(*_COLUMNS, text=_COLUMNS[:5])
  for case in itertools.product(
    _SHAPES.value, _PRECISIONS.value, _LENGTHS.value, _SIDES.value
  ):
    _print_row(*case)


def _print_row(shape, precision, lengths, side):
  case = f"{side},{shape},{precision},{lengths}"
  try:
    found = measured_apart(
      "benchmarks.accelerator_training", case, stderr=subprocess.PIPE
    )
  except subprocess.CalledProcessError as error:
    found = [f"not measured: {error.stderr.strip().splitlines()[-1]}"]
  print_row(shape, precision, lengths, side, *found)


def _measure(name, shape, precision, lengths):
  """Trains on a case; returns the last cells of its row."""
  shape = random_models.SHAPES[shape]
  side = training_sides.Side(shape, precision, _BATCH_SIZE.value)
  update = training_sides.SIDES[name](side)
  if lengths == "full":
    shares = {_MAX_SEQ_LENGTH.value: 1.0}
  else:
    shares = {k: v for k, v in _SHARES.items() if k <= _MAX_SEQ_LENGTH.value}
  # One length after the other, each compiled once and weighted by its share.
  times = {length: _times(update, length) for length in shares}
  seconds = _weighted(
    shares, {k: statistics.median(t) for k, t in times.items()}
  )
  flops = _weighted(
    shares, {k: shape.flops(_BATCH_SIZE.value, k) for k in shares}
  )
  slow = _weighted(shares, {k: max(t) for k, t in times.items()})
  fast = _weighted(shares, {k: min(t) for k, t in times.items()})
  share = "-"
  if _PEAK_TFLOPS.value:
    share = f"{flops / seconds / (_PEAK_TFLOPS.value * 1e12):.1%}"
  return [
    training_sides.device_name(name),
    round(_BATCH_SIZE.value / seconds, 1),
    round(1000 * seconds, 2),
    f"{1000 * fast:.2f} to {1000 * slow:.2f}",
    share,
  ]


def _weighted(shares, values):
  """Mean over the lengths, weighted by their shares."""
  return sum(shares[k] * values[k] for k in shares) / sum(shares.values())


def _times(update, length):
  """Seconds of each update at a length, after three to warm up."""
  import numpy as np

  rng = np.random.default_rng(length)
  size = (_BATCH_SIZE.value, length)
  batch = {
    "input_ids": rng.integers(0, random_models.VOCABULARY_SIZE, size, np.int32),
    "input_mask": np.ones(size, np.int32),
    "segment_ids": np.zeros(size, np.int32),
    "start_positions": rng.integers(0, length, size[:1], np.int32),
    "end_positions": rng.integers(0, length, size[:1], np.int32),
  }
  return repeated_seconds(lambda: update(batch), _STEPS.value, warm_up=3)[0]


if __name__ == "__main__":
  program.run_program(main)
