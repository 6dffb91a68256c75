r"""Training speed in batches of three kinds, in two runtimes and a peer's.

  python -m benchmarks.training
  python -m benchmarks.training --shapes=base --precisions=bfloat16 \
    --jit_compile --peak_tflops=989

Smallest setting:
  python -m benchmarks.training --shapes=tiny --max_seq_length=64 \
    --batch_size=1 --steps=1 --warm_up=1

Sides: `tensorflow`, the step of run_squad; `fused`, the same with three
operations that XLA compiles (benchmarks.minilm_squad.train); `jax`, the same
encoder and head under Keras' JAX backend, also without TensorFlow;
`transformers`, BertForQuestionAnswering in PyTorch. All have the same sizes
with random weights, dropout, loss, Adam with decoupled weight decay, clipping
and random windows. Each side trains in its own process, one after the other, on
batches of each length that is a multiple of --length_buckets.

From the median update at each length follow windows per second with three ways
to make batches of SQuAD's windows: `fixed`, all padded to --max_seq_length, as
in the original; `longest`, random batches padded to their longest window, as in
transformers; `buckets`, batches of similar length, as in run_squad. With
--peak_tflops (of the device and precision, in 10^12 operations per second) a
column is the share of it that the matrix products reach; the last one is the
most memory that an accelerator's allocator gave out. Sides that fail,
for lack of a package for one, have the reason in their row.
"""

import importlib.metadata
import itertools
import json
import statistics
import subprocess

from absl import flags

from benchmarks import random_models, training_sides
from benchmarks.inputs import check_known, count_flag
from benchmarks.machine import describe_machine
from benchmarks.repetitions import measured_apart, repeated_seconds
from benchmarks.tables import print_head, print_row
from bert_span.cli import program

_SIDES = flags.DEFINE_list(
  "sides", list(training_sides.SIDES), "Sides to measure."
)
_SHAPES = flags.DEFINE_list(
  "shapes", ["minilm", "base"], f"Of {', '.join(random_models.SHAPES)}."
)
_PRECISIONS = flags.DEFINE_list(
  "precisions", ["float32"], "Of matrix products: float32, bfloat16."
)
_MAX_SEQ_LENGTH = flags.DEFINE_integer(
  "max_seq_length", 384, "WordPieces of the longest windows.", 64, 384
)
_LENGTH_BUCKETS = flags.DEFINE_integer(
  "length_buckets", 32, "Lengths are multiples of it.", 32, 384
)
_BATCH_SIZE = count_flag("batch_size", 16, "Windows per batch.")
_STEPS = count_flag("steps", 12, "Measured updates at each length.")
_WARM_UP = count_flag("warm_up", 3, "Updates to warm up at each length.")
_PEAK_TFLOPS = flags.DEFINE_float(
  "peak_tflops", None, "Peak of the device in 10^12 operations per second."
)
_JIT_COMPILE = flags.DEFINE_bool(
  "jit_compile", False, "XLA compiles TensorFlow's update for each length."
)
_CASE = flags.DEFINE_string(
  "case", None, "One case to measure: side,shape,precision."
)
# Share of windows by padded length: 44 articles of SQuAD 1.1 at 384/128/64.
_SHARES = dict(
  zip(
    range(64, 385, 32),
    (0.043, 0.128, 0.191, 0.2, 0.16, 0.1, 0.064, 0.047, 0.03, 0.016, 0.02),
    strict=True,
  )
)
_COLUMNS = (
  *("model", "precision", "side", "device", "batches", "WordPieces a window"),
  *("windows/s", "lowest to highest", "of peak", "peak MB"),
)


def main(argv):
  """Measures each case in its own process, or the one of --case."""
  check_known(_SIDES, training_sides.SIDES)
  check_known(_SHAPES, random_models.SHAPES)
  check_known(_PRECISIONS, ("float32", "bfloat16"))
  if _CASE.value:
    print(json.dumps(_measure(*_CASE.value.split(","))))
    return
  print(describe_machine("keras"))
  print_head(*_COLUMNS, text=_COLUMNS[:5])
  for case in itertools.product(_SHAPES.value, _PRECISIONS.value, _SIDES.value):
    _print_rows(*case)


def _print_rows(shape, precision, side):
  case = f"{side},{shape},{precision}"
  try:
    result = measured_apart("benchmarks.training", case, stderr=subprocess.PIPE)
  except subprocess.CalledProcessError as error:
    reason = error.stderr.strip().rpartition("\n")[2] or error
    print_row(shape, precision, side, f"not measured: {reason}")
    return
  seconds = {int(length): s for length, s in result["seconds"].items()}
  for name, shares in _ways_of_batching(list(seconds)).items():
    print_row(
      *(shape, precision, result["runtime"], result["device"], name),
      f"{sum(length * share for length, share in shares.items()):.0f}",
      *_rates(random_models.SHAPES[shape], shares, seconds),
      result["peak_mb"] or "-",
    )


def _ways_of_batching(lengths):
  """Returns the share of batches of each length, by way of batching."""
  buckets = dict.fromkeys(lengths, 0.0)
  for length, share in _SHARES.items():
    if length <= max(lengths):
      buckets[next(n for n in lengths if n >= length)] += share
  total = sum(buckets.values())
  buckets = {length: share / total for length, share in buckets.items()}
  # P(the longest of n windows <= length) = P(a window <= length)^n
  most = [sum(list(buckets.values())[: i + 1]) for i in range(len(lengths))]
  most = [0.0, *(share**_BATCH_SIZE.value for share in most)]
  longest = [after - before for before, after in itertools.pairwise(most)]
  return {
    "fixed": {max(lengths): 1.0},
    "longest": dict(zip(lengths, longest, strict=True)),
    "buckets": buckets,
  }


def _rates(shape, shares, seconds):
  """Returns windows per second with their spread, and the share of the peak."""

  def rate(of_updates):
    mean = sum(s * of_updates(seconds[n]) for n, s in shares.items())
    return _BATCH_SIZE.value / mean

  median, of_peak = rate(statistics.median), "-"
  if _PEAK_TFLOPS.value:
    flops = sum(s * shape.flops(1, n) for n, s in shares.items()) * median
    of_peak = f"{flops / (_PEAK_TFLOPS.value * 1e12):.1%}"
  return f"{median:.2f}", f"{rate(max):.2f} to {rate(min):.2f}", of_peak


def _measure(side, shape, precision):
  """Returns the device and the seconds of updates by length, to print."""
  update = training_sides.SIDES[side](
    training_sides.Side(
      random_models.SHAPES[shape],
      precision,
      _BATCH_SIZE.value,
      is_compiled=_JIT_COMPILE.value,
    )
  )
  multiple = _LENGTH_BUCKETS.value
  lengths = sorted({-(-n // multiple) * multiple for n in _SHARES})
  lengths = [n for n in lengths if n <= _MAX_SEQ_LENGTH.value]
  seconds = {n: _times(update, n) for n in lengths}
  package = "tensorflow" if side == "fused" else side
  return {
    "runtime": f"{side} {importlib.metadata.version(package)}",
    "device": training_sides.device_name(side),
    "seconds": seconds,
    "peak_mb": training_sides.peak_mb(side),
  }


def _times(update, length):
  """Returns the seconds of each update at a length."""
  import numpy as np

  rng = np.random.default_rng(length)
  size = (_BATCH_SIZE.value, length)
  batch = {
    "token_ids": rng.integers(0, random_models.VOCABULARY_SIZE, size, np.int32),
    "padding_mask": np.ones(size, np.int32),
    "segment_ids": np.zeros(size, np.int32),
    "start_positions": rng.integers(0, length, size[:1], np.int32),
    "end_positions": rng.integers(0, length, size[:1], np.int32),
  }
  return repeated_seconds(lambda: update(batch), _STEPS.value, _WARM_UP.value)[
    0
  ]


if __name__ == "__main__":
  program.run_program(main)
