r"""Size, scores and latency of TFLite files of one model.

  python -m benchmarks.tflite --predict_file=squad1_dev_half.json

Smallest setting:
  python -m benchmarks.tflite --model=minilm_squad --questions=2 --rounds=1 \
    --predict_file=bert_span/sample/dev.json --short=16 --quantization=none

Exports the model without quantization (none), as float16 and as dynamic, each
for windows of --max_seq_length and for any length. Where ai-edge-quantizer is
installed, it makes files of 8 and 4 bits of the ones without quantization. All
files and the Keras model answer the same questions, drawn with a fixed seed.
Then each file is timed with 1 and 2 threads and XNNPACK. Each round runs every
file once, so that other work on the machine affects all of them. Prints the
table of benchmarks/RESULTS.md.
"""

import contextlib
import dataclasses
import functools
import importlib.util
import json
import os
import pathlib
import random
import statistics
import sys
import tempfile

from absl import flags, logging

from benchmarks.inputs import count_flag
from benchmarks.machine import describe_machine, vector_instructions
from benchmarks.repetitions import seconds_in_turns
from benchmarks.tables import print_head, print_row
from bert_span.cli import program

_MODEL = flags.DEFINE_string(
  "model", "minilm_squad", "Model directory, or the packaged model."
)
_PREDICT_FILE = flags.DEFINE_string(
  "predict_file",
  None,
  "SQuAD file (JSON, Parquet) of the questions to answer.",
  required=True,
)
_QUESTIONS = count_flag(
  "questions", 500, "Questions to score, drawn at random."
)
_ROUNDS = count_flag("rounds", 30, "Runs of each file for its latency.")
_SHORT = count_flag(
  "short",
  160,
  "Second length, in WordPieces, at which files of any length are timed.",
)
_QUANTIZATIONS = flags.DEFINE_multi_enum(
  "quantization",
  ["none", "float16", "dynamic"],
  ["none", "float16", "dynamic"],
  "Files to compare with none; repeatable.",
)
# The recipes of ai-edge-quantizer, and whether they are for windows of any
# length. The converter itself knows no 4 bits. Static ones, whose activations
# are integers, are for matrix products only: with the rest of the graph, where
# the mask adds large negative numbers, every answer was wrong.
_RECIPES = {
  "8 bits, a scale an output": ("dynamic_wi8c_afp32", True),
  "4 bits, a scale an output": ("dynamic_wi4c_afp32", True),
  "4 bits, a scale for 32": ("dynamic_wi4b32_afp32", True),
  "8 bits, static activations of 8": ("static_wi8_ai8", False),
  "8 bits, static activations of 16": ("static_wi8_ai16", False),
}
_CALIBRATION_QUESTIONS = 64
_THREADS = (1, 2)
_SEED = 0
_COLUMNS = (
  *("quantization", "length", "MB", "EM", "F1", "equal answers"),
  *("ms, 1 thread", "ms, 2 threads", "speed"),
)


def main(argv):
  """Exports, scores and times the files, and prints a row for each."""
  logging.set_verbosity(logging.WARNING)
  from bert_span import SpanExtractor
  from bert_span.squad.reader import read_squad
  from bert_span.tflite.tflite_extractor import runtime_name

  squad_file = read_squad(_PREDICT_FILE.value)
  examples = list(squad_file.examples)
  random.Random(_SEED).shuffle(examples)
  first, others = examples[: _QUESTIONS.value], examples[_QUESTIONS.value :]
  squad_file = dataclasses.replace(squad_file, examples=tuple(first))
  extractor = SpanExtractor.from_preset(_MODEL.value)
  with tempfile.TemporaryDirectory() as folder:
    # Those of a small file are both scored and calibrated with.
    calibration = (others or first)[:_CALIBRATION_QUESTIONS]
    files = _export(extractor, folder, calibration)
    expected = list(extractor.predictions(squad_file.examples))
    em, f1 = _scores(squad_file, expected)
    scores = {name: _score(path, squad_file, expected) for name, path in files}
    times = _times(files, extractor.window_options.max_seq_length)
    print(describe_machine("tensorflow"))
    print(f"Instructions: {', '.join(vector_instructions())}")
    if not importlib.util.find_spec("ai_edge_quantizer"):
      print("No rows of 8 and 4 bits: pip install ai-edge-quantizer")
    print(
      f"{len(expected)} questions of {os.path.basename(_PREDICT_FILE.value)}, "
      f"Keras: EM {em:.2f}, F1 {f1:.2f}. {runtime_name()}, p50 "
      f"of {_ROUNDS.value} rounds; speed: none = 1, at equal length and "
      "1 thread\n"
    )
    print_head(*_COLUMNS, text=_COLUMNS)
    for name, path in files:
      for length in _lengths(name, extractor.window_options.max_seq_length):
        print_row(*_cells(name, length, path, scores, times))


def _export(extractor, folder, examples):
  """Writes all files; returns pairs of (quantization, is_dynamic) and path."""
  from bert_span.tflite import export as tflite_export

  files = []
  for quantization in dict.fromkeys(["none", *_QUANTIZATIONS.value]):
    for is_dynamic in (False, True):
      options = tflite_export.TFLiteOptions(quantization, is_dynamic)
      path = os.path.join(folder, f"{quantization}_{is_dynamic}.tflite")
      pathlib.Path(path).write_bytes(
        tflite_export.tflite_content(extractor, options)
      )
      files.append(((quantization, is_dynamic), path))
  if importlib.util.find_spec("ai_edge_quantizer"):
    for i, (name, (recipe, is_dynamic)) in enumerate(_RECIPES.items()):
      path = os.path.join(folder, f"recipe_{i}.tflite")
      plain = dict(files)["none", is_dynamic]
      pathlib.Path(path).write_bytes(_quantized(plain, recipe, examples))
      files.append(((name, is_dynamic), path))
  return files


def _quantized(path, recipe_name, examples):
  """Returns a file's bytes with the weights of matrices in fewer bits."""
  from ai_edge_quantizer import quantizer, recipe

  from bert_span.presets.span_config import CONFIG_FILE
  from bert_span.tflite import file as tflite_file

  rules = getattr(recipe, recipe_name)()
  ranges = None
  with contextlib.redirect_stdout(sys.stderr):
    if recipe_name.startswith("static"):
      for rule in rules:
        rule["operation"] = "FULLY_CONNECTED"
      ranges = quantizer.Quantizer(path, rules).calibrate(
        {"serving_default": _windows(path, examples)}
      )
    quantized = quantizer.Quantizer(path, rules).quantize(ranges)
  model = bytes(quantized.quantized_model)
  config = tflite_file.read_packed_config(path)
  config["tflite"].update(tflite_file.fingerprint(model))
  files = tflite_file.read_files(path)
  files[CONFIG_FILE] = json.dumps(config).encode("utf-8")
  return tflite_file.with_files(model, files)


def _windows(path, examples):
  """Returns the inputs of each window of examples, as the file takes them."""
  from bert_span import TFLiteSpanExtractor

  extractor = TFLiteSpanExtractor(path)
  signature, windows = extractor.runner.signature, []

  def run(**inputs):
    windows.append(inputs)
    return signature(**inputs)

  extractor.runner.signature = run
  list(extractor.predictions(examples))
  return windows


def _score(path, squad_file, expected):
  """Returns EM, F1, and the share of answers equal to the Keras model's."""
  from bert_span import TFLiteSpanExtractor

  extractor = TFLiteSpanExtractor(path, num_threads=2)
  given = list(extractor.predictions(squad_file.examples))
  equal = sum(
    (a.answer.char_start, a.answer.char_end)
    == (b.answer.char_start, b.answer.char_end)
    for a, b in zip(expected, given, strict=True)
  )
  return (*_scores(squad_file, given), equal / len(expected))


def _scores(squad_file, predictions):
  from bert_span.scoring.squad_scores import official_scores

  scores = official_scores(
    squad_file, {p.qas_id: p.answer.text for p in predictions}
  )
  exact = "exact" if squad_file.version_2 else "exact_match"
  return scores[exact], scores["f1"]


def _times(files, max_seq_length):
  """Returns the seconds of every round by (name, length, threads)."""
  runs = {}
  for name, path in files:
    for length in _lengths(name, max_seq_length):
      for threads in _THREADS:
        runs[name, length, threads] = _run_of(path, length, threads)
  return seconds_in_turns(runs, _ROUNDS.value)


def _run_of(path, length, threads):
  """Returns a function that runs a file once."""
  import numpy as np

  from bert_span.tflite.file import read_vocabulary
  from bert_span.tflite.tflite_extractor import TFLiteRunner

  runner = TFLiteRunner(path, threads, max_length=length)
  vocabulary = read_vocabulary(path)
  num_tokens = len(getattr(vocabulary, "tokens", vocabulary))
  ids = np.random.default_rng(_SEED).integers(0, num_tokens, length, np.int32)
  ones = np.ones(length, np.int32)
  runner(ids, ones, ones)  # Allocates its memory.
  return functools.partial(runner, ids, ones, ones)


def _lengths(name, max_seq_length):
  _, is_dynamic = name
  return (max_seq_length, _SHORT.value) if is_dynamic else (max_seq_length,)


def _cells(name, length, path, scores, times):
  """Returns a row of the table; scores do not depend on the timed length."""
  quantization, is_dynamic = name
  em, f1, equal = scores[name]
  medians = [statistics.median(times[name, length, t]) for t in _THREADS]
  plain = times[("none", is_dynamic), length, _THREADS[0]]
  # Ratios within a round, in which the machine was the same.
  speed = statistics.median(
    a / b for a, b in zip(plain, times[name, length, _THREADS[0]], strict=True)
  )
  shown = f"any, here {length}" if is_dynamic else str(length)
  return (
    *(quantization, shown, f"{os.path.getsize(path) / 1e6:.1f}"),
    *(f"{em:.2f}", f"{f1:.2f}", f"{equal:.1%}"),
    *(f"{1e3 * seconds:.0f}" for seconds in medians),
    f"{speed:.2f}",
  )


if __name__ == "__main__":
  program.run_program(main)
