r"""SQuAD JSON to padded batches: windows per second.

  python -m benchmarks.conversion --data_file=dev.json
  python -m benchmarks.conversion --sides=bert_span,byte_pairs --cores=1,2,4 \
    --byte_pairs=ROBERTA/vocab.json

Smallest setting:
  python -m benchmarks.conversion --sides=bert_span --cores=1 --repetitions=1

The sides, each in its own process, which is limited to --cores:

  bert_span     this package's reader and preprocessor, as in run_squad
  byte_pairs    the same with the byte pairs of --byte_pairs, as for RoBERTa
  sentence_pieces
                the same with the model of --sentence_pieces, as for XLM-R
  transformers  the fast tokenizer with return_overflowing_tokens, a thousand
                questions per call, as in transformers' run_qa example

All sides pad every window to --max_seq_length, keep character offsets and read
the JSON file again each time. transformers takes the overlap of windows instead
of their step. The overlap is chosen for a question of the median length, and
each side counts its windows. transformers needs `pip install -e '.[bench]'`.
"""

import importlib.util
import json
import os

from absl import flags

from benchmarks import inputs, repetitions
from benchmarks.machine import describe_machine
from benchmarks.tables import print_head, print_row
from bert_span.cli import program
from bert_span.cli.flags import define_flags, read_flags
from bert_span.options.extras import check_extra
from bert_span.presets.vocabulary_files import load_vocabulary
from bert_span.text.options import WindowOptions

_SIDES = flags.DEFINE_list(
  "sides",
  None,
  "Sides to measure; by default bert_span, and transformers if installed.",
)
_CORES = flags.DEFINE_list(
  "cores", ["1", "2"], "Numbers of cores to measure with."
)
_DATA_FILE = inputs.data_file_flag()
_PRESET = inputs.vocabulary_flag()
_BYTE_PAIRS = flags.DEFINE_string(
  "byte_pairs", None, "vocab.json, beside a merges.txt, of the side byte_pairs."
)
_SENTENCE_PIECES = flags.DEFINE_string(
  "sentence_pieces", None, "SentencePiece model of the side sentence_pieces."
)
_REPETITIONS = inputs.count_flag("repetitions", 5, "Measurements of each side.")
_CASE = flags.DEFINE_string("case", None, "One case to measure: side,cores.")
_QUESTIONS_PER_CALL = 1000
define_flags(WindowOptions)


def main(argv):
  """Measures each case in its own process, or the one of --case."""
  if _CASE.value:
    side, cores = _CASE.value.split(",")
    print(json.dumps(_measure(side, int(cores))))
    return
  inputs.check_known(_SIDES, _CONVERTERS)
  inputs.check(
    "byte_pairs" not in (_SIDES.value or ()) or _BYTE_PAIRS.value,
    "--sides=byte_pairs needs --byte_pairs, the vocab.json of a RoBERTa.",
  )
  inputs.check(
    "sentence_pieces" not in (_SIDES.value or ()) or _SENTENCE_PIECES.value,
    "--sides=sentence_pieces needs --sentence_pieces, the model of an XLM-R.",
  )
  sides = _SIDES.value or ["bert_span"]
  if _SIDES.value is None and importlib.util.find_spec("transformers"):
    sides.append("transformers")
  peers = ["transformers"] if "transformers" in sides else []
  check_extra("bench", *peers)
  print(describe_machine("tensorflow", "tensorflow-text", *peers))
  print_head(
    *("cores", "side", "windows", "windows/s", "lowest to highest"),
    *("questions/s", "ratio"),
    text=("side", "lowest to highest"),
  )
  for cores in _CORES.value:
    first = None
    for side in sides:
      result = repetitions.measured_apart(
        "benchmarks.conversion", f"{side},{cores}", env=_threads(cores)
      )
      rate = result["windows_per_second"]
      first = first or rate["median"]
      print_row(
        *(cores, side, f"{result['windows']:,}", f"{rate['median']:,.0f}"),
        repetitions.spread(rate),
        f"{rate['median'] * result['questions'] / result['windows']:,.0f}",
        f"{rate['median'] / first:.2f}",
      )


def _threads(cores):
  """Environment variables that limit the libraries' threads."""
  return {
    **os.environ,
    "OMP_NUM_THREADS": cores,
    "RAYON_NUM_THREADS": cores,
    "TF_NUM_INTRAOP_THREADS": cores,
    "TOKENIZERS_PARALLELISM": "true" if int(cores) > 1 else "false",
  }


def _measure(side, cores):
  """Times one side; returns the dict to print."""
  available = sorted(os.sched_getaffinity(0))
  inputs.check(
    cores <= len(available),
    f"--cores={cores}: this process may use {len(available)}.",
  )
  os.sched_setaffinity(0, available[:cores])  # before any thread is started
  convert = _CONVERTERS[side]()
  seconds, (windows, questions) = repetitions.repeated_seconds(
    convert, _REPETITIONS.value
  )
  return {
    "windows": windows,
    "questions": questions,
    "windows_per_second": repetitions.rate_summary(windows, seconds),
  }


def _bert_span(vocabulary):
  """Returns a function whose result is the numbers of windows, questions."""
  from bert_span.data.preprocessor import SpanPreprocessor
  from bert_span.data.window_batches import window_batches

  layer = SpanPreprocessor(
    vocabulary, True, read_flags(WindowOptions), pad_to_max=True
  )

  def convert():
    examples = inputs.read_examples(_DATA_FILE.value)
    batches = window_batches(examples, layer)
    return sum(len(w["token_ids"]) for _, w in batches), len(examples)

  return convert


def _transformers():
  """Returns the same with the fast tokenizer."""
  import tempfile

  import transformers

  from benchmarks.huggingface_peer import window_tokenizer

  with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
    file.write("\n".join(inputs.vocabulary_of(_PRESET.value)) + "\n")
    file.flush()
    tokenizer = transformers.BertTokenizerFast(file.name, do_lower_case=True)
  options = read_flags(WindowOptions)
  questions = [question for question, _ in inputs.read_pairs(_DATA_FILE.value)]
  windows_of = window_tokenizer(
    tokenizer, questions, options.max_seq_length, options.doc_stride
  )

  def convert():
    pairs, windows = inputs.read_pairs(_DATA_FILE.value), 0
    for first in range(0, len(pairs), _QUESTIONS_PER_CALL):
      several = pairs[first : first + _QUESTIONS_PER_CALL]
      texts = map(list, zip(*several, strict=True))
      windows += len(windows_of(*texts, padding="max_length")["input_ids"])
    return windows, len(pairs)

  return convert


_CONVERTERS = {
  "bert_span": lambda: _bert_span(inputs.vocabulary_of(_PRESET.value)),
  "byte_pairs": lambda: _bert_span(load_vocabulary(_BYTE_PAIRS.value)),
  "sentence_pieces": lambda: _bert_span(
    load_vocabulary(_SENTENCE_PIECES.value, "xlm-roberta")
  ),
  "transformers": _transformers,
}


if __name__ == "__main__":
  program.run_program(main)
