r"""Latency of answers from strings, against other ways to the same answers.

  python -m benchmarks.serving --model=DIR --data_file=DEV.json
  python -m benchmarks.serving --model=DIR --batch_sizes=1 --peers=logits

The sides of benchmarks/answering_sides.py: an exported SavedModel that takes
strings or gives logits, SpanExtractor, a TFLite file, and transformers in
PyTorch, ONNX Runtime and OpenVINO, with the same weights and the same length
and step of windows; and only the matrix products of the model. Each side runs
in its own process, with all cores and without a network. They take turns
request by request, in changing order, so that they run under the same
conditions, one at a time. Times are from strings to the answers' strings. Needs
`pip install -e '.[bench]'`.
"""

import dataclasses
import itertools
import random
import tempfile
import time
from importlib.util import find_spec

from absl import flags, logging

from benchmarks.answering_sides import (
  EXTRACTOR,
  PEERS,
  PRODUCTS,
  STRINGS,
  TFLITE,
  Side,
  missing_packages,
  prepare_sides,
)
from benchmarks.inputs import (
  batches_of,
  check_known,
  data_file_flag,
  read_examples,
  whole_numbers,
)
from benchmarks.machine import describe_machine
from benchmarks.repetitions import milliseconds, percentile
from benchmarks.tables import print_head, print_row
from bert_span.cli import program

_MODEL = flags.DEFINE_string(
  "model",
  None,
  "Directory of a trained model with a span head.",
  required=True,
)
_DATA_FILE = data_file_flag()
_PEERS = flags.DEFINE_list(
  "peers",
  None,
  f"Sides to compare with strings, of {', '.join(PEERS)}; by default all whose "
  "packages are installed.",
)
_BATCH_SIZES = flags.DEFINE_list(
  "batch_sizes", ["1", "8", "32"], "Questions in a request."
)
_LONG_CHARACTERS = flags.DEFINE_integer(
  "long_characters",
  5000,
  "Length of long passages in characters: the question's own passage and those "
  "that follow it in the file.",
  lower_bound=1,
)
_REQUESTS = flags.DEFINE_integer(
  "requests", 200, "Maximum number of requests to each side.", lower_bound=1
)
_SECONDS = flags.DEFINE_float(
  "seconds",
  120.0,
  "Maximum seconds of all sides, for each length and batch size.",
  lower_bound=0.0,
)
_WARM_UP = flags.DEFINE_integer(
  "warm_up", 3, "Requests to each side to warm up.", lower_bound=0
)
_MAX_WINDOWS_PER_STEP = flags.DEFINE_integer(
  "max_windows_per_step",
  16,
  "Windows per step of the encoder, on all sides.",
  1,
)
_COLUMNS = (
  *("passages", "batch", "side", "windows", "requests"),
  *("p50 ms", "p95 ms", "p99 ms", "questions/s"),
  *("p50 / strings", "p50 / products", "equal"),
)


@dataclasses.dataclass
class SideFigures:
  """What was measured of a side."""

  seconds: list = dataclasses.field(default_factory=list)  # of each request
  windows: int = 0
  equal: int = 0  # Answers equal to those of strings.


def main(argv):
  """Prepares and measures the sides, and prints the table."""
  check_known(_PEERS, PEERS)
  peers = _PEERS.value or _installed()
  batch_sizes = whole_numbers(_BATCH_SIZES)
  # TensorFlow's notes on names and files would clutter the table.
  logging.set_verbosity(logging.WARNING)
  with tempfile.TemporaryDirectory() as folder:
    extractor, pairs = _load()
    settings = prepare_sides(
      _MODEL.value,
      extractor,
      [question for question, _ in pairs["short"]],
      _MAX_WINDOWS_PER_STEP.value,
      folder,
      peers,
    )
    packages = ("torch", "transformers", "onnxruntime", "openvino")
    print(describe_machine("tensorflow", *filter(find_spec, packages)))
    print_head(*_COLUMNS, text=("passages", "side"))
    sides = {name: Side(name, settings) for name in (STRINGS, *peers)}
    for (length, texts), size in itertools.product(pairs.items(), batch_sizes):
      for row in _compare(sides, batches_of(texts, size), extractor):
        row |= {"passages": length, "batch": size}
        print_row(*(row[column] for column in _COLUMNS))
    for side in sides.values():
      side.close()


def _installed():
  """The sides whose packages are installed; prints the others."""
  found = [name for name in PEERS if not missing_packages(name)]
  for name in PEERS:
    if name not in found:
      missing = ", ".join(missing_packages(name))
      print(f"{name} is skipped: {missing} not installed.")
  return found


def _load():
  """The model, and pairs of question and passage, short and long ones."""
  from bert_span.extractor import SpanExtractor

  examples = read_examples(_DATA_FILE.value)
  passages = list(dict.fromkeys(example.context for example in examples))
  places = {passage: place for place, passage in enumerate(passages)}
  short = [(example.question, example.context) for example in examples]
  random.Random(0).shuffle(short)
  long = [(question, _long(passages, places[own])) for question, own in short]
  extractor = SpanExtractor.from_preset(_MODEL.value)
  program.check(extractor.head.scores_ends, "--model must have a span head.")
  return extractor, {"short": short, "long": long}


def _long(passages, place):
  """A passage and those after it, cut at --long_characters."""
  text = ""
  for passage in itertools.islice(itertools.cycle(passages), place, None):
    if len(text) >= _LONG_CHARACTERS.value:
      return text[: _LONG_CHARACTERS.value]
    text += passage + "\n"
  return text


def _compare(sides, batches, extractor):
  """Measures all sides on the same batches; returns a dict for each."""
  for batch in itertools.islice(itertools.cycle(batches), _WARM_UP.value):
    for side in sides.values():
      side.answer(batch)
  figures, asked = _take_turns(sides, batches)
  windows = sum(_count_windows(extractor, batch) for batch in asked)
  # These do not report their windows.
  for name in {STRINGS, EXTRACTOR, TFLITE} & figures.keys():
    figures[name].windows = windows
  size = len(batches[0][0])
  return [
    {
      "side": name,
      **_row(figures[name], size),
      **{
        f"p50 / {other}": _ratio(figures, name, other)
        for other in (STRINGS, PRODUCTS)
      },
    }
    for name in sides
  ]


def _take_turns(sides, batches):
  """Asks all sides; returns their `SideFigures` and the batches asked."""
  figures = {name: SideFigures() for name in sides}
  asked = []
  end = time.monotonic() + _SECONDS.value
  for batch in itertools.islice(itertools.cycle(batches), _REQUESTS.value):
    answers = {}
    for name in _rotated(list(sides), len(asked)):
      seconds, answers[name], windows = sides[name].answer(batch)
      figures[name].seconds.append(seconds)
      figures[name].windows += windows or 0
    for name in sides:
      pairs = zip(answers[name] or (), answers[STRINGS], strict=False)
      figures[name].equal += sum(a == b for a, b in pairs)
    asked.append(batch)
    if time.monotonic() > end:
      break
  return figures, asked


def _count_windows(extractor, batch):
  questions, contexts = batch
  windows = extractor.preprocessor({"question": questions, "context": contexts})
  return len(windows["input_ids"])


def _ratio(figures, name, other):
  """The ratio of two medians, "-" if the other side is not measured."""
  if other not in figures:
    return "-"
  medians = [percentile(figures[side].seconds, 50) for side in (name, other)]
  return f"{medians[0] / medians[1]:.2f}"


def _row(figures, size):
  requests = len(figures.seconds)
  questions = requests * size
  p50, p95, p99 = milliseconds(figures.seconds, 50, 95, 99)
  return {
    "windows": round(figures.windows / questions, 1),
    "requests": requests,
    "p50 ms": p50,
    "p95 ms": p95,
    "p99 ms": p99,
    "questions/s": round(questions / sum(figures.seconds), 1),
    "equal": f"{100 * figures.equal / questions:.1f} %",
  }


def _rotated(names, turn):
  first = turn % len(names)
  return names[first:] + names[:first]


if __name__ == "__main__":
  program.run_program(main)
