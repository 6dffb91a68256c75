r"""Latency of answers from strings, against other ways to the same answers.

  python -m benchmarks.serving --model=DIR --data_file=DEV.json
  python -m benchmarks.serving --model=DIR --batch_sizes=1 --peers=logits

Smallest setting:
  python -m benchmarks.serving --model=minilm_squad --peers=extractor \
    --batch_sizes=2 --requests=2 --warm_up=0

The sides of benchmarks/answering_sides.py: an exported SavedModel that takes
strings or gives logits, SpanExtractor, a TFLite file, and transformers in
PyTorch, ONNX Runtime and OpenVINO, with the same weights and the same length
and step of windows. Each side runs in its own process, with all cores and
without a network. They take turns request by request, in changing order, so
that they run under the same conditions, one at a time. Times are from strings
to the answers' strings. Needs `pip install -e '.[bench]'`.
"""

import dataclasses
import itertools
import random
import tempfile
import time
from importlib.util import find_spec

from absl import flags, logging

from benchmarks.answering_sides import (
  PEERS,
  STRINGS,
  Side,
  missing_packages,
  prepare_sides,
)
from benchmarks.inputs import (
  batches_of,
  check_known,
  count_flag,
  data_file_flag,
  read_examples,
  whole_numbers,
)
from benchmarks.machine import describe_machine
from benchmarks.repetitions import milliseconds, percentile
from benchmarks.tables import print_head, print_row
from bert_span.cli import program
from bert_span.options.extras import check_extra

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
_LONG_CHARACTERS = count_flag(
  "long_characters",
  5000,
  "Length of long passages in characters: the question's own passage and those "
  "that follow it in the file.",
)
_REQUESTS = count_flag(
  "requests", 200, "Maximum number of requests to each side."
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
_COLUMNS = (
  *("passages", "batch", "side", "requests"),
  *("p50 ms", "p95 ms", "p99 ms", "questions/s", "p50 / strings", "equal"),
)


@dataclasses.dataclass
class SideFigures:
  """What was measured of a side."""

  seconds: list = dataclasses.field(default_factory=list)  # of each request
  equal: int = 0  # Answers equal to those of strings.


def main(argv):
  """Prepares and measures the sides, and prints the table."""
  check_known(_PEERS, PEERS)
  peers = _PEERS.value or _installed()
  missing = {package for peer in peers for package in missing_packages(peer)}
  check_extra("bench", *sorted(missing))
  batch_sizes = whole_numbers(_BATCH_SIZES)
  # TensorFlow's notes on names and files would clutter the table.
  logging.set_verbosity(logging.WARNING)
  with tempfile.TemporaryDirectory() as folder:
    pairs = _pairs()
    questions = [question for question, _ in pairs["short"]]
    settings = prepare_sides(_MODEL.value, questions, folder, peers)
    packages = ("torch", "transformers", "onnxruntime", "openvino")
    print(describe_machine("tensorflow", *filter(find_spec, packages)))
    print_head(*_COLUMNS, text=("passages", "side"))
    sides = {name: Side(name, settings) for name in (STRINGS, *peers)}
    for (length, texts), size in itertools.product(pairs.items(), batch_sizes):
      figures = _take_turns(sides, batches_of(texts, size))
      for side, measured in figures.items():
        print_row(length, size, side, *_cells(measured, figures[STRINGS], size))
    for side in sides.values():
      side.close()


def _installed():
  """Returns the sides whose packages are installed; prints the others."""
  missing = {name: missing_packages(name) for name in PEERS}
  for name, packages in missing.items():
    if packages:
      print(f"{name} is skipped: {', '.join(packages)} not installed.")
  return [name for name, packages in missing.items() if not packages]


def _pairs():
  """Returns pairs of question and passage, short and long ones."""
  examples = read_examples(_DATA_FILE.value)
  passages = list(dict.fromkeys(example.context for example in examples))
  places = {passage: place for place, passage in enumerate(passages)}
  short = [(example.question, example.context) for example in examples]
  random.Random(0).shuffle(short)
  long = [(text, _long(passages, places[passage])) for text, passage in short]
  return {"short": short, "long": long}


def _long(passages, place):
  """Returns a passage and those after it, cut at --long_characters."""
  text = ""
  for passage in itertools.islice(itertools.cycle(passages), place, None):
    if len(text) >= _LONG_CHARACTERS.value:
      return text[: _LONG_CHARACTERS.value]
    text += passage + "\n"
  return text


def _take_turns(sides, batches):
  """Asks all sides the same batches; returns their `SideFigures`."""
  for batch in itertools.islice(itertools.cycle(batches), _WARM_UP.value):
    for side in sides.values():
      side.answer(batch)
  figures = {name: SideFigures() for name in sides}
  end = time.monotonic() + _SECONDS.value
  requests = itertools.islice(itertools.cycle(batches), _REQUESTS.value)
  order = list(sides)
  for batch in requests:
    answers = {}
    order.append(order.pop(0))  # Another side begins.
    for name in order:
      seconds, answers[name] = sides[name].answer(batch)
      figures[name].seconds.append(seconds)
    for name in sides:
      pairs = zip(answers[name], answers[STRINGS], strict=True)
      figures[name].equal += sum(a == b for a, b in pairs)
    if time.monotonic() > end:
      break
  return figures


def _cells(figures, strings, size):
  """Returns the cells of a row after those that name it."""
  requests = len(figures.seconds)
  questions = requests * size
  return [
    requests,
    *milliseconds(figures.seconds, 50, 95, 99),
    round(questions / sum(figures.seconds), 1),
    f"{percentile(figures.seconds, 50) / percentile(strings.seconds, 50):.2f}",
    f"{100 * figures.equal / questions:.1f} %",
  ]


if __name__ == "__main__":
  program.run_program(main)
