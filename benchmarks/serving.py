r"""Answers from strings, against logits that a client turns into answers.

  python -m benchmarks.serving --model=DIR --data_file=DEV.json
  python -m benchmarks.serving --model=DIR --batch_sizes=1 --peers=logits

Three sides with the same weights, the same length and step of windows:

  strings       the exported SavedModel, signature serving_default
  logits        the same SavedModel, signature logits; the client makes windows
                with transformers' fast tokenizer and answers as it documents
  transformers  that client with AutoModelForQuestionAnswering in PyTorch

Each side runs in a process of its own, with all cores. The sides take turns
request by request, in changing order, so that all meet the same machine; only
one works at a time, and no side has a network in between. The clock runs from
strings to the answers' strings. Needs `pip install -e '.[bench]'`.
"""

import dataclasses
import itertools
import multiprocessing
import os
import random
import tempfile
import time

from absl import flags, logging

from benchmarks.latencies import Latencies
from benchmarks.machine import describe_machine
from bert_span import programs

_STRINGS, _LOGITS, _TRANSFORMERS = "strings", "logits", "transformers"
_MODEL = flags.DEFINE_string(
  "model", None, "Directory of a trained model with a span head."
)
_DATA_FILE = flags.DEFINE_string(
  "data_file",
  None,
  "SQuAD JSON file with the questions; by default the embedded sample.",
)
_PEERS = flags.DEFINE_list(
  "peers", [_LOGITS, _TRANSFORMERS], "Sides to compare strings with."
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
  "requests", 200, "Requests to each side at most.", lower_bound=1
)
_SECONDS = flags.DEFINE_float(
  "seconds",
  120.0,
  "Seconds for all sides together at most, for each length and batch size.",
  lower_bound=0.0,
)
_WARM_UP = flags.DEFINE_integer(
  "warm_up", 3, "Requests to each side that do not count.", lower_bound=0
)
_MAX_WINDOWS_PER_STEP = flags.DEFINE_integer(
  "max_windows_per_step", 16, "Windows read at once, on all sides.", 1
)
_COLUMNS = (
  *("passages", "batch", "side", "windows", "requests"),
  *("p50 ms", "p95 ms", "p99 ms", "questions/s", "p50 / strings", "equal"),
)


@dataclasses.dataclass(frozen=True)
class SideSettings:
  """All that the process of a side is told.

  Attributes:
    saved_model: directory of the exported version.
    huggingface: directory of the same weights for transformers.
    answerer: further arguments of `HuggingFaceAnswerer`.
  """

  saved_model: str
  huggingface: str
  answerer: dict


@dataclasses.dataclass
class SideFigures:
  """What was measured of a side.

  Attributes:
    latencies: `Latencies` of its requests.
    windows: windows it read for them.
    equal: answers that equal those of strings.
  """

  latencies: Latencies = dataclasses.field(default_factory=Latencies)
  windows: int = 0
  equal: int = 0


class Side:
  """A way to answer, in a process of its own.

  Args:
    name: "strings", "logits" or "transformers".
    settings: `SideSettings`.
  """

  def __init__(self, name, settings):
    context = multiprocessing.get_context("spawn")
    self._connection, other = context.Pipe()
    self._process = context.Process(
      target=_work, args=(other, name, settings), daemon=True
    )
    self._process.start()
    other.close()

  def answer(self, batch):
    """Answers a batch.

    Args:
      batch: questions and passages, two lists of str.

    Returns:
      Seconds it took, list of str, and the windows that were read or None.
    """
    self._connection.send(batch)
    return self._connection.recv()

  def close(self):
    """Ends the process."""
    self._connection.close()
    self._process.join()


def _work(connection, name, settings):
  """Answers batches until the other end is closed."""
  answer = _answer_function(name, settings)
  while True:
    try:
      batch = connection.recv()
    except EOFError:
      return
    begin = time.perf_counter()
    texts, windows = answer(*batch)
    connection.send((time.perf_counter() - begin, texts, windows))


def _answer_function(name, settings):
  if name == _STRINGS:
    return _strings_function(settings.saved_model)
  from benchmarks import huggingface_peer

  logits = (
    huggingface_peer.served_logits(settings.saved_model)
    if name == _LOGITS
    else huggingface_peer.torch_logits(settings.huggingface)
  )
  return huggingface_peer.HuggingFaceAnswerer(
    settings.huggingface, logits, **settings.answerer
  ).answer


def _strings_function(saved_model):
  import tensorflow as tf
  import tensorflow_text  # noqa: F401 -- registers its ops

  model = tf.saved_model.load(saved_model)

  def answer(questions, contexts):
    answers = model.signatures["serving_default"](
      question=tf.constant(questions), context=tf.constant(contexts)
    )["answer"]
    return [text.decode() for text in answers.numpy()], None

  return answer


def main(argv):
  """Prepares the sides, lets them take turns and prints the table."""
  programs.refuse_arguments(argv)
  programs.check(_MODEL.value, "--model is required.")
  peers = _checked(_PEERS.value, "--peers", (_LOGITS, _TRANSFORMERS))
  batch_sizes = [_batch_size(text) for text in _BATCH_SIZES.value]
  # TensorFlow's notes on names and files would hide the table.
  logging.set_verbosity(logging.WARNING)
  with tempfile.TemporaryDirectory() as folder:
    extractor, pairs = _load()
    settings = _prepare(extractor, pairs, folder)
    print(describe_machine("tensorflow", "torch", "transformers"))
    print(f"| {' | '.join(_COLUMNS)} |\n|---|---:|---|{'---:|' * 8}")
    sides = {name: Side(name, settings) for name in (_STRINGS, *peers)}
    for (length, texts), size in itertools.product(pairs.items(), batch_sizes):
      batches = _batches(texts, size)
      for row in _compare(sides, batches, extractor):
        row |= {"passages": length, "batch": size}
        cells = [str(row[column]) for column in _COLUMNS]
        print(f"| {' | '.join(cells)} |", flush=True)
    for side in sides.values():
      side.close()


def run():
  """Entry point."""
  programs.run_program(main)


def _checked(values, flag, known):
  unknown = [value for value in values if value not in known]
  if unknown:
    raise ValueError(
      f"{flag} knows {', '.join(known)}. Received: {', '.join(unknown)}."
    )
  return values


def _batch_size(text):
  if not text.strip().isdigit() or int(text) < 1:
    raise ValueError(
      "--batch_sizes must be whole numbers of at least 1, separated by commas. "
      f"Received: {text!r}."
    )
  return int(text)


def _load():
  """The model, and pairs (question, passage), short and long ones."""
  import bert_span
  from bert_span.data.squad_reader import read_squad
  from bert_span.extractor import SpanExtractor

  sample = os.path.join(os.path.dirname(bert_span.__file__), "sample/dev.json")
  examples = read_squad(_DATA_FILE.value or sample).examples
  passages = list(dict.fromkeys(example.context for example in examples))
  places = {passage: place for place, passage in enumerate(passages)}
  short = [(example.question, example.context) for example in examples]
  random.Random(0).shuffle(short)
  long = [(question, _long(passages, places[own])) for question, own in short]
  extractor = SpanExtractor.from_preset(_MODEL.value)
  programs.check(extractor.head == "span", "--model must have a span head.")
  return extractor, {"short": short, "long": long}


def _long(passages, place):
  """A passage and those after it, cut at --long_characters."""
  text = ""
  for passage in itertools.islice(itertools.cycle(passages), place, None):
    if len(text) >= _LONG_CHARACTERS.value:
      return text[: _LONG_CHARACTERS.value]
    text += passage + "\n"
  return text


def _prepare(extractor, pairs, folder):
  """Exports the model for both runtimes."""
  from benchmarks.huggingface_peer import write_huggingface_model
  from bert_span.served_heads import server_of
  from bert_span.serving.answer_server import ServingOptions
  from bert_span.serving.saved_model import write_saved_model

  saved_model = os.path.join(folder, "saved_model")
  server = server_of(extractor, ServingOptions(_MAX_WINDOWS_PER_STEP.value))
  vocabulary = extractor.preprocessor.tokenizer.vocabulary
  write_saved_model(server, vocabulary, saved_model)
  huggingface = os.path.join(folder, "huggingface")
  os.mkdir(huggingface)
  write_huggingface_model(extractor, huggingface)
  answerer = {
    "max_seq_length": extractor.window_options.max_seq_length,
    "doc_stride": extractor.window_options.doc_stride,
    "questions": [question for question, _ in pairs["short"]],
    "max_windows_per_step": _MAX_WINDOWS_PER_STEP.value,
    "n_best_size": extractor.decoder_options.n_best_size,
    "max_answer_length": extractor.decoder_options.max_answer_length,
  }
  return SideSettings(saved_model, huggingface, answerer)


def _batches(pairs, size):
  """Batches of questions and passages, all of the same size."""
  endless = itertools.cycle(pairs)
  return [
    tuple(map(list, zip(*itertools.islice(endless, size), strict=True)))
    for _ in range(max(len(pairs) // size, 1))
  ]


def _compare(sides, batches, extractor):
  """Measures all sides on the same batches.

  Args:
    sides: dict from name to `Side`, strings among them.
    batches: list of batches.
    extractor: `SpanExtractor`, which counts the windows of strings.

  Returns:
    List of dicts, one a side, some of _COLUMNS.
  """
  for batch in itertools.islice(itertools.cycle(batches), _WARM_UP.value):
    for side in sides.values():
      side.answer(batch)
  figures, asked = _take_turns(sides, batches)
  figures[_STRINGS].windows = sum(
    _count_windows(extractor, batch) for batch in asked
  )
  size = len(batches[0][0])
  return [
    {"side": name, **_row(figures[name], size, figures[_STRINGS])}
    for name in sides
  ]


def _take_turns(sides, batches):
  """Asks all sides until --requests or --seconds are reached.

  Returns:
    dict from name to `SideFigures`, and the batches that were asked.
  """
  figures = {name: SideFigures() for name in sides}
  asked = []
  end = time.monotonic() + _SECONDS.value
  for batch in itertools.islice(itertools.cycle(batches), _REQUESTS.value):
    answers = {}
    for name in _rotated(list(sides), len(asked)):
      seconds, answers[name], windows = sides[name].answer(batch)
      figures[name].latencies.add(seconds)
      figures[name].windows += windows or 0
    for name in sides:
      equal = map(str.__eq__, answers[name], answers[_STRINGS])
      figures[name].equal += sum(equal)
    asked.append(batch)
    if time.monotonic() > end:
      break
  return figures, asked


def _count_windows(extractor, batch):
  questions, contexts = batch
  windows = extractor.preprocessor({"question": questions, "context": contexts})
  return len(windows["input_ids"])


def _row(figures, size, reference):
  latencies = figures.latencies
  questions = len(latencies) * size
  ratio = latencies.percentile(50) / reference.latencies.percentile(50)
  p50, p95, p99 = latencies.milliseconds(50, 95, 99)
  return {
    "windows": round(figures.windows / questions, 1),
    "requests": len(latencies),
    "p50 ms": p50,
    "p95 ms": p95,
    "p99 ms": p99,
    "questions/s": round(questions / sum(latencies.seconds), 1),
    "p50 / strings": f"{ratio:.2f}",
    "equal": f"{100 * figures.equal / questions:.1f} %",
  }


def _rotated(names, turn):
  first = turn % len(names)
  return names[first:] + names[:first]


if __name__ == "__main__":
  run()
