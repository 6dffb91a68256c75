r"""Training speed on a processor: length buckets, fixed length, and a peer.

  python -m benchmarks.training --data_file=squad1_train_part.json
  python -m benchmarks.training --data_file=... --shapes=base --updates=4

Sides: `buckets`, batches of similar length as in run_squad; `fixed`, run_squad
with --length_buckets=none, all windows padded to --max_seq_length;
`transformers`, BertForQuestionAnswering in PyTorch, random batches padded to
their longest window. All sides have the same windows, made beforehand, the same
sizes with random weights, dropout, loss, Adam with decoupled weight decay,
clipping and batch size. Each side trains in its own process with all cores, in
turns, --repetitions times --updates updates. A row has the windows per second,
including the making of batches, and the ratio to `fixed`.
"""

import itertools
import json
import statistics
import time

from absl import flags

from benchmarks import inputs, random_models, training_sides
from benchmarks.machine import describe_machine
from benchmarks.repetitions import measured_apart, rate_summary, spread
from benchmarks.tables import print_head, print_row
from bert_span.cli import model_flags, program
from bert_span.cli.option_flags import define_flags
from bert_span.text.options import WindowOptions

_DATA_FILE = inputs.data_file_flag()
_PRESET = inputs.vocabulary_flag()
_SHAPES = flags.DEFINE_list("shapes", ["minilm", "base"], "Encoders.")
_SIDES = flags.DEFINE_list(
  "sides", ["fixed", "buckets", "transformers"], "Sides to measure."
)
_BATCH_SIZE = flags.DEFINE_integer(
  "batch_size", 16, "Windows per batch.", lower_bound=1
)
_BUCKET_WIDTH = flags.DEFINE_integer(
  "bucket_width", 32, "Batches of `buckets` are padded to multiples of this."
)
_UPDATES = flags.DEFINE_integer(
  "updates", 12, "Updates per turn.", lower_bound=1
)
_REPETITIONS = flags.DEFINE_integer(
  "repetitions", 3, "Turns of each side.", lower_bound=1
)
_WARM_UP = flags.DEFINE_integer(
  "warm_up", 3, "Updates to warm up before each turn.", lower_bound=1
)
_CASE = flags.DEFINE_string(
  "case", None, "One turn to measure: shape,side,number."
)
define_flags(WindowOptions)


def main(argv):
  """Measures every side in turns, or the turn of --case."""
  if _CASE.value:
    shape, side, number = _CASE.value.split(",")
    print(json.dumps(_measure(shape, side, int(number))))
    return
  packages = ["tensorflow"]
  if "transformers" in _SIDES.value:
    packages += ["torch", "transformers"]
  print(describe_machine(*packages))
  print_head(
    *("model", "side", "WordPieces a window", "windows/s"),
    *("lowest to highest", "ratio"),
    text=("model", "side", "lowest to highest"),
  )
  for shape in _SHAPES.value:
    _print_rows(shape)


def _print_rows(shape):
  turns = {side: [] for side in _SIDES.value}
  for number, side in itertools.product(
    range(_REPETITIONS.value), _SIDES.value
  ):
    case = f"{shape},{side},{number}"
    turns[side].append(measured_apart("benchmarks.training", case))
  windows = _BATCH_SIZE.value * _UPDATES.value
  rates = {
    side: rate_summary(windows, [turn["seconds"] for turn in values])
    for side, values in turns.items()
  }
  first = rates[_SIDES.value[0]]["median"]
  for side, rate in rates.items():
    length = statistics.mean(turn["length"] for turn in turns[side])
    print_row(
      *(shape, side, f"{length:.0f}", f"{rate['median']:.2f}"),
      *(spread(rate, 2), f"{rate['median'] / first:.2f}"),
    )


def _measure(shape, side, number):
  """Seconds of a turn's updates, and mean WordPieces of its windows."""
  batches = _batches(_windows(), side, number)
  name = "transformers" if side == "transformers" else "tensorflow"
  update = training_sides.SIDES[name](
    training_sides.Side(
      random_models.SHAPES[shape],
      "float32",
      _BATCH_SIZE.value,
      is_compiled=False,
    )
  )
  for batch in itertools.islice(batches, _WARM_UP.value):
    update(batch)
  lengths = []
  begin = time.perf_counter()
  for batch in itertools.islice(batches, _UPDATES.value):
    update(batch)
    lengths.append(batch["input_ids"].shape[1])
  seconds = time.perf_counter() - begin
  return {"seconds": seconds, "length": statistics.mean(lengths)}


def _windows():
  """`PackedWindows` of the file."""
  from bert_span.data.window_labels import SPAN_LABELS

  from bert_span.data.labelled_windows import label_windows
  from bert_span.data.preprocessor import SpanPreprocessor

  preprocessor = SpanPreprocessor(
    inputs.vocabulary_of(_PRESET.value), True, model_flags.window_options()
  )
  examples = inputs.read_examples(_DATA_FILE.value, "train.json")
  return label_windows(examples, preprocessor, SPAN_LABELS).windows


def _batches(windows, side, number):
  """Yields the batches of a side, without end, as dicts of arrays."""
  import numpy as np

  from bert_span.data.length_buckets import BucketedBatches

  max_seq_length = model_flags.window_options().max_seq_length
  if side != "transformers":
    width = _BUCKET_WIDTH.value if side == "buckets" else None
    batches = BucketedBatches(
      windows, _BATCH_SIZE.value, max_seq_length, width, number
    )
    yield from batches.dataset(0).as_numpy_iterator()
  rng = np.random.default_rng(number)
  while True:
    order = rng.permutation(len(windows))
    for first in range(0, len(order) - _BATCH_SIZE.value, _BATCH_SIZE.value):
      indices = order[first : first + _BATCH_SIZE.value]
      yield windows.batch(indices, int(windows.lengths[indices].max()))


if __name__ == "__main__":
  program.run_program(main)
