r"""bert_span_lite beside other ways to answer with the same weights.

  python -m benchmarks.lite --data_file=dev.json \
    --lite_python=build/lite/x86_64/bin/python

Smallest setting:
  python -m benchmarks.lite --model=minilm_squad --sides=tflite --questions=2 \
    --starts=1 --batches=1

Each side is a process that gets the same questions in turns: the extractor of
bert_span_lite and TFLiteSpanExtractor on the same file of 8 bits, the
SavedModel, and ONNX Runtime with float32 and with its own dynamic quantization,
tokens by transformers' fast tokenizer. Prints a row for each: seconds from the
start of Python to the first answer, medians of one question and of a batch, the
peak of the memory, EM and F1 of all questions, and which answers are those of
TFLiteSpanExtractor.
"""

import dataclasses
import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from absl import flags, logging

from benchmarks.inputs import (
  batches_of,
  check,
  check_known,
  count_flag,
  data_file_flag,
  squad_path,
)
from benchmarks.machine import describe_machine, vector_instructions
from benchmarks.repetitions import percentile
from benchmarks.tables import print_head, print_row
from bert_span.cli import program

_LITE, _TFLITE, _SAVED_MODEL = "lite", "tflite", "saved_model"
_ONNX, _ONNX_INT8 = "onnxruntime", "onnxruntime_int8"
_SIDES = (_LITE, _TFLITE, _SAVED_MODEL, _ONNX, _ONNX_INT8)
_ONNX_PACKAGES = "torch", "transformers", "onnx", "onnxruntime"

_MODEL = flags.DEFINE_string(
  "model", "minilm_squad", "Model directory, or the packaged model."
)
_DATA_FILE = data_file_flag()
_CHOSEN = flags.DEFINE_list("sides", list(_SIDES), "Sides to compare.")
_QUESTIONS = count_flag("questions", 1000, "Questions, the first of the file.")
_BATCH_SIZE = count_flag("batch_size", 16, "Questions of a batch.")
_BATCHES = count_flag("batches", 20, "Batches to time.")
_STARTS = count_flag("starts", 5, "New processes of each side.")
_THREADS = count_flag("num_threads", 1, "Processors of each side.")
_LITE_PYTHON = flags.DEFINE_string(
  "lite_python",
  sys.executable,
  "Interpreter of an environment with bert_span_lite.",
)
_WORKER = pathlib.Path(__file__).with_name("lite_side.py")
_ROOT = str(pathlib.Path(__file__).parents[1])


class _Side:
  """The process of a side."""

  def __init__(self, name, settings):
    python = _LITE_PYTHON.value if name == _LITE else sys.executable
    self._process = subprocess.Popen(
      [python, _WORKER, name, json.dumps(settings)],
      stdin=subprocess.PIPE,
      stdout=subprocess.PIPE,
      stderr=subprocess.DEVNULL,
      text=True,
      env={**os.environ, "PYTHONPATH": _ROOT},
    )
    self._name = name

  def answer(self, questions, contexts):
    """Returns what lite_side.py prints, a dict."""
    self._process.stdin.write(json.dumps([questions, contexts]) + "\n")
    self._process.stdin.flush()
    line = self._process.stdout.readline()
    if not line:
      raise ValueError(
        f"The process of {self._name} ended with {self._process.wait()}. Run "
        f"{_WORKER} to see why."
      )
    return json.loads(line)

  def close(self):
    """Ends the process."""
    self._process.stdin.close()
    self._process.wait()


def main(argv):
  """Asks all sides and prints the table."""
  check_known(_CHOSEN, _SIDES)
  names = [name for name in _SIDES if name in _CHOSEN.value]
  if {_ONNX, _ONNX_INT8} & {*names}:
    missing = [p for p in _ONNX_PACKAGES if not importlib.util.find_spec(p)]
    check(
      not missing,
      f"--sides: ONNX Runtime needs {', '.join(missing)}. Install "
      "'.[bench]', or name other sides.",
    )
  logging.set_verbosity(logging.WARNING)
  from bert_span.squad.reader import read_squad

  squad_file = read_squad(squad_path(_DATA_FILE.value))
  examples = squad_file.examples[: _QUESTIONS.value]
  squad_file = dataclasses.replace(squad_file, examples=examples)
  pairs = [(example.question, example.context) for example in examples]
  with tempfile.TemporaryDirectory() as folder:
    settings = _prepare(names, [question for question, _ in pairs], folder)
    starts = _starts(names, settings, pairs[0])
    answers, times, batch_times, peaks = _ask(names, settings, pairs)
  print(describe_machine("tensorflow"))
  print(f"Instructions: {', '.join(vector_instructions())}")
  print(f"{len(pairs)} questions, {_THREADS.value} processors for each side\n")
  columns = (
    *("first answer, s", "p50, ms", f"p50 of {_BATCH_SIZE.value}, ms"),
    *("peak MB", "EM", "F1", "equal answers", "probability differs by"),
  )
  print_head("side", *columns, text=("side",))
  for name in names:
    print_row(
      name,
      f"{statistics.median(starts[name]):.2f}",
      f"{1e3 * percentile(times[name], 50):.1f}",
      f"{1e3 * percentile(batch_times[name], 50):.1f}",
      f"{peaks[name] / 1e3:.0f}",
      *(f"{score:.2f}" for score in _scores(squad_file, answers[name])),
      *_differences(answers[name], answers.get(_TFLITE)),
    )


def _prepare(names, questions, folder):
  """Writes the models of the sides; returns the settings of lite_side.py."""
  from bert_span.extractors.span_extractor import SpanExtractor

  extractor = SpanExtractor.from_preset(
    # ONNX Runtime's client knows no "no answer".
    _MODEL.value,
    version_2_with_negative=False,
  )
  places = {
    name: os.path.join(folder, name)
    for name in (_SAVED_MODEL, "onnx", "onnx_int8")
  }
  places["tflite"] = os.path.join(folder, "qa.tflite")
  if {_LITE, _TFLITE} & {*names}:
    options = {"quantization": "dynamic", "dynamic_length": True}
    extractor.export(places["tflite"], format="litert", **options)
  if _SAVED_MODEL in names:
    from bert_span.serving.signatures import ServedModel, write_saved_model

    vocabulary = extractor.preprocessor.tokenizer.vocabulary
    path = places[_SAVED_MODEL]
    write_saved_model(ServedModel(extractor), vocabulary, path)
  if {_ONNX, _ONNX_INT8} & {*names}:
    _write_onnx(extractor, places["onnx"], places["onnx_int8"])
  return {
    **places,
    "num_threads": _THREADS.value,
    "questions": questions,
    "window": dataclasses.asdict(extractor.window_options),
    "decoder": dataclasses.asdict(extractor.decoder_options),
  }


def _write_onnx(extractor, plain, quantized):
  """Writes directories with a tokenizer and model.onnx, float32 and 8 bits."""
  from benchmarks.huggingface_peer import write_int8, write_onnx
  from bert_span.presets.huggingface_writer import save_huggingface

  save_huggingface(extractor, plain)
  write_onnx(plain)
  write_int8(plain, quantized)


def _starts(names, settings, pair):
  """Seconds from the start of a process to its first answer, by side."""
  seconds = {name: [] for name in names}
  for _ in range(_STARTS.value):
    for name in names:
      begin = time.perf_counter()
      side = _Side(name, settings)
      side.answer(*([text] for text in pair))
      seconds[name].append(time.perf_counter() - begin)
      side.close()
  return seconds


def _ask(names, settings, pairs):
  """Answers, seconds of questions and of batches, and peaks, by side."""
  sides = {name: _Side(name, settings) for name in names}
  answers, times, batch_times = ({n: [] for n in names} for _ in range(3))
  peaks = {}
  for side in sides.values():
    side.answer(*([text] for text in pairs[0]))  # Plans its memory.
  for question, context in pairs:
    for name, side in sides.items():
      row = side.answer([question], [context])
      answers[name] += row["answers"]
      times[name].append(row["seconds"])
  for batch in batches_of(pairs, _BATCH_SIZE.value)[: _BATCHES.value]:
    for name, side in sides.items():
      row = side.answer(*batch)
      batch_times[name].append(row["seconds"])
      peaks[name] = row["peak_kb"]
  for side in sides.values():
    side.close()
  return answers, times, batch_times, peaks


def _scores(squad_file, answers):
  from bert_span.scoring.squad_scores import official_scores

  texts = {
    example.qas_id: answer["text"]
    for example, answer in zip(squad_file.examples, answers, strict=True)
  }
  scores = official_scores(squad_file, texts)
  exact = "exact" if squad_file.version_2 else "exact_match"
  return scores[exact], scores["f1"]


def _differences(answers, wanted):
  """The number of equal answers, and how far a probability is off at most."""
  if wanted is None:
    return "", ""
  names = [n for n in ("text", "char_start", "char_end") if n in answers[0]]
  pairs = list(zip(answers, wanted, strict=True))
  equal = sum(all(a[n] == b[n] for n in names) for a, b in pairs)
  if "probability" not in answers[0]:
    return equal, ""
  largest = max(abs(a["probability"] - b["probability"]) for a, b in pairs)
  return equal, f"{largest:.1e}"


if __name__ == "__main__":
  program.run_program(main)
