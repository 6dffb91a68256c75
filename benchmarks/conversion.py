r"""SQuAD JSON to padded batches: windows per second.

  python -m benchmarks.conversion --data_file=dev.json
  python -m benchmarks.conversion --sides=bert_span,plain --cores=1

The sides, each in its own process, which is limited to --cores:

  bert_span     this package's reader and preprocessor, as in run_squad
  byte_pairs    the same with the byte pairs of --byte_pairs, as for RoBERTa
  transformers  the fast tokenizer with return_overflowing_tokens, a thousand
                questions per call, as in transformers' run_qa example
  plain         plain Python, for scale (only the first --plain_questions)

All sides pad every window to --max_seq_length, keep character offsets and read
the JSON file again each time. transformers takes the overlap of windows instead
of their step. The overlap is chosen for a question of the median length, and
each side counts its windows. transformers needs `pip install -e '.[bench]'`.
"""

import json
import os
import statistics

from absl import flags

from benchmarks import repetitions
from benchmarks.inputs import squad_path
from benchmarks.machine import describe_machine
from bert_span.cli import model_flags, program
from bert_span.cli.option_flags import OptionFlags
from bert_span.text.options import WindowOptions
from bert_span.text.vocabulary import load_vocabulary

_SIDES = flags.DEFINE_list(
  "sides", ["bert_span", "transformers", "plain"], "Sides to measure."
)
_CORES = flags.DEFINE_list(
  "cores", ["1", "2"], "Numbers of cores to measure with."
)
_DATA_FILE = flags.DEFINE_string(
  "data_file", None, "SQuAD JSON file; by default the embedded sample."
)
_PRESET = flags.DEFINE_string(
  "preset", "all-minilm-l6-v2", "Model whose vocabulary is used, uncased."
)
_BYTE_PAIRS = flags.DEFINE_string(
  "byte_pairs", None, "vocab.json, beside a merges.txt, of the side byte_pairs."
)
_REPETITIONS = flags.DEFINE_integer(
  "repetitions", 5, "Measurements of each side.", lower_bound=1
)
_WARM_UP = flags.DEFINE_integer("warm_up", 1, "Runs to warm up.", lower_bound=0)
_PLAIN_QUESTIONS = flags.DEFINE_integer(
  "plain_questions", 500, "Questions of the side plain.", lower_bound=1
)
_CASE = flags.DEFINE_string("case", None, "One case to measure: side,cores.")
_QUESTIONS_PER_CALL = 1000
OptionFlags(WindowOptions)


def main(argv):
  """Measures each case in its own process, or the one of --case."""
  if _CASE.value:
    side, cores = _CASE.value.split(",")
    print(json.dumps(_measure(side, int(cores))))
    return
  unknown = set(_SIDES.value) - set(_CONVERTERS)
  program.check(
    not unknown, f"--sides knows {', '.join(_CONVERTERS)}. Received: {unknown}."
  )
  program.check(
    "byte_pairs" not in _SIDES.value or _BYTE_PAIRS.value,
    "--sides=byte_pairs needs --byte_pairs, the vocab.json of a RoBERTa.",
  )
  peers = ["transformers"] if "transformers" in _SIDES.value else []
  print(describe_machine("tensorflow", "tensorflow-text", *peers))
  print(
    "| cores | side | windows | windows/s | lowest to highest | questions/s | "
    "ratio to bert_span |\n|---:|---|---:|---:|---|---:|---:|"
  )
  for cores in _CORES.value:
    own = None
    for side in _SIDES.value:
      found = repetitions.measured_apart(
        "benchmarks.conversion", f"{side},{cores}", _threads(cores)
      )
      own = own or found["windows_per_second"]["median"]
      print(_line(cores, side, found, own), flush=True)


def run():
  """Entry point."""
  program.run_program(main)


def _threads(cores):
  """Environment variables that limit the libraries' threads."""
  return {
    "OMP_NUM_THREADS": cores,
    "RAYON_NUM_THREADS": cores,
    "TF_NUM_INTRAOP_THREADS": cores,
    "TOKENIZERS_PARALLELISM": "true" if int(cores) > 1 else "false",
  }


def _line(cores, side, found, own):
  rate = found["windows_per_second"]
  questions = rate["median"] * found["questions"] / found["windows"]
  return (
    f"| {cores} | {side} | {found['windows']:,} | {rate['median']:,.0f} | "
    f"{repetitions.spread(rate)} | {questions:,.0f} | "
    f"{rate['median'] / own:.2f} |"
  )


def _measure(side, cores):
  """Times one side; returns the dict to print."""
  available = sorted(os.sched_getaffinity(0))
  program.check(
    cores <= len(available),
    f"--cores={cores}: this process may use {len(available)}.",
  )
  os.sched_setaffinity(0, available[:cores])  # before any thread is started
  convert = _CONVERTERS[side]()
  seconds, (windows, questions) = repetitions.repeated_seconds(
    convert, _REPETITIONS.value, _WARM_UP.value
  )
  return {
    "windows": windows,
    "questions": questions,
    "windows_per_second": repetitions.rate_summary(windows, seconds),
  }


def _bert_span(vocabulary):
  """A function that returns the numbers of windows and questions."""
  import tensorflow as tf

  from bert_span.data.window_batches import INPUT_SPECS, window_batches
  from bert_span.squad.reader import read_squad
  from bert_span.text.preprocessor import SpanPreprocessor

  layer = SpanPreprocessor(
    vocabulary, True, model_flags.window_options(), pad_to_max=True
  )
  # As in SpanExtractor: traced once.
  preprocessor = tf.function(layer, input_signature=[INPUT_SPECS])

  def convert():
    examples = read_squad(squad_path(_DATA_FILE.value)).examples
    batches = window_batches(examples, preprocessor)
    return sum(len(w["input_ids"]) for _, w in batches), len(examples)

  return convert


def _transformers():
  """The same with the fast tokenizer."""
  import tempfile

  import transformers

  with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
    file.write("\n".join(_vocabulary()) + "\n")
    file.flush()
    tokenizer = transformers.BertTokenizerFast(file.name, do_lower_case=True)
  options = model_flags.window_options()
  pairs = _pairs()
  lengths = [len(ids) for ids in tokenizer([q for q, _ in pairs])["input_ids"]]
  room = options.max_seq_length - int(statistics.median(lengths)) - 1
  overlap = max(room - options.doc_stride, 0)

  def convert():
    pairs, windows = _pairs(), 0
    for first in range(0, len(pairs), _QUESTIONS_PER_CALL):
      several = pairs[first : first + _QUESTIONS_PER_CALL]
      batch = tokenizer(
        [question for question, _ in several],
        [context for _, context in several],
        truncation="only_second",
        max_length=options.max_seq_length,
        stride=overlap,
        padding="max_length",
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
        return_tensors="np",
      )
      windows += len(batch["input_ids"])
    return windows, len(pairs)

  return convert


def _plain():
  """The same in plain Python."""
  from benchmarks.plain_conversion import PlainConverter

  options = model_flags.window_options()
  converter = PlainConverter(
    _vocabulary(),
    options.max_seq_length,
    options.doc_stride,
    options.max_query_length,
  )

  def convert():
    pairs = _pairs()[: _PLAIN_QUESTIONS.value]
    return sum(len(list(converter.windows(*pair))) for pair in pairs), len(
      pairs
    )

  return convert


_CONVERTERS = {
  "bert_span": lambda: _bert_span(_vocabulary()),
  "byte_pairs": lambda: _bert_span(load_vocabulary(_BYTE_PAIRS.value)),
  "transformers": _transformers,
  "plain": _plain,
}


def _pairs():
  """Questions and passages, read by a plain loop."""
  with open(squad_path(_DATA_FILE.value), encoding="utf-8") as file:
    articles = json.load(file)["data"]
  return [
    (question["question"], paragraph["context"])
    for article in articles
    for paragraph in article["paragraphs"]
    for question in paragraph["qas"]
  ]


def _vocabulary():
  from bert_span.presets import load_pretrained

  loaded = load_pretrained.load_pretrained(_PRESET.value)
  return load_vocabulary(loaded.vocabulary_path)


if __name__ == "__main__":
  run()
