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

from benchmarks import training_sides
from benchmarks.inputs import squad_path
from benchmarks.machine import describe_machine
from benchmarks.repetitions import measured_apart, rate_summary
from bert_span.cli import model_flags, program
from bert_span.cli.option_flags import OptionFlags
from bert_span.text.options import WindowOptions

_DATA_FILE = flags.DEFINE_string(
  "data_file", None, "SQuAD JSON file; by default the embedded sample."
)
_PRESET = flags.DEFINE_string(
  "preset", "all-minilm-l6-v2", "Model whose vocabulary is used, uncased."
)
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
OptionFlags(WindowOptions)


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
  print(
    "| model | side | WordPieces a window | windows/s | lowest to highest | "
    "ratio |\n|---|---|---:|---:|---|---:|"
  )
  for shape in _SHAPES.value:
    for row in _rows(shape):
      print(row, flush=True)


def run():
  """Entry point."""
  program.run_program(main)


def _rows(shape):
  """Yields the rows of an encoder."""
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
    yield (
      f"| {shape} | {side} | {length:.0f} | {rate['median']:.2f} | "
      f"{rate['lowest']:.2f} to {rate['highest']:.2f} | "
      f"{rate['median'] / first:.2f} |"
    )


def _measure(shape, side, number):
  """Seconds of a turn's updates, and mean WordPieces of its windows."""
  batches = _batches(_windows(), side, number)
  name = "transformers" if side == "transformers" else "tensorflow"
  update = training_sides.SIDES[name](
    training_sides.Side(
      training_sides.SHAPES[shape],
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
  from bert_span.data.labelled_windows import label_windows
  from bert_span.data.window_labels import SPAN_LABELS
  from bert_span.presets import load_pretrained
  from bert_span.squad.reader import read_squad
  from bert_span.text.preprocessor import SpanPreprocessor
  from bert_span.text.vocabulary import load_vocabulary

  loaded = load_pretrained.load_pretrained(_PRESET.value)
  preprocessor = SpanPreprocessor(
    load_vocabulary(loaded.vocabulary_path),
    True,
    model_flags.window_options(),
  )
  examples = read_squad(squad_path(_DATA_FILE.value, "train.json")).examples
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
  run()
