"""Verifies that a SavedModel gives the answers of the extractor."""

import itertools
import json
import os
import subprocess
import sys
from typing import NamedTuple

import numpy as np

from bert_span.client.predict_api import decode_bytes, rows_of_columns
from bert_span.data.window_batches import example_arrays
from bert_span.serving import fresh_process

# Ops of tensorflow-text that the graph may have. TensorFlow Serving links that
# package's library of ops (ops_lib in tensorflow_serving/model_servers/BUILD).
# Some releases lack newer ops; all have these.
TEXT_OPS = (
  *("FastWordpieceTokenizeWithOffsets", "NormalizeUTF8"),
  *("SentencepieceOp", "SentencepieceTokenizeOp"),  # byte pairs
  "SentencepieceTokenizeWithOffsetsOp",  # SentencePieces
)
# TensorFlow has these ops, but a server has no Python to run them.
_PYTHON_OPS = ("EagerPyFunc", "PyFunc", "PyFuncStateless")
_NUM_SHOWN = 5  # differences


class Verification(NamedTuple):
  """The results of a verification in which all answers were equal."""

  num_questions: int
  largest_difference: float  # of a score or a probability; relative above 1
  ops: list[str]  # all ops of the graph
  text_ops: list[str]  # those of tensorflow-text


def verify_saved_model(
  saved_model, batches, expected_rows, tolerance, python=sys.executable
):
  """Asks a SavedModel in a fresh process and compares with predictions.

  Texts, offsets, counts and truth values must be equal. Scores, probabilities
  and null odds may differ by the tolerance, which is relative above 1: the null
  odds of a B/I/O head are a sum over a whole passage, and float32 has some 7
  digits. `batches` are lists of `SquadExample`, and `expected_rows` the
  `AnswerColumns.expected_row` of each; `python` is the interpreter of the
  process.

  Raises ValueError if an answer differs, or the graph has an op that TensorFlow
  Serving lacks; ChildProcessError if the SavedModel cannot be asked.
  """
  inputs = [
    {name: decode_bytes(texts.tolist()) for name, texts in arrays.items()}
    for arrays in map(example_arrays, batches)
  ]
  reply = _run_fresh_process(python, saved_model, inputs)
  check_served_ops(reply["ops"], reply["custom_ops"])
  examples = itertools.chain(*batches)
  answers = list(itertools.chain(*map(rows_of_columns, reply["answers"])))
  wrong, largest = [], 0.0
  for example, *rows in zip(examples, expected_rows, answers, strict=True):
    differences, difference = _compare_rows(*rows, tolerance)
    if differences:
      wrong.append(f"question {example.qas_id}: {'; '.join(differences)}")
    largest = max(largest, difference)
  if wrong:
    shown = ". ".join(wrong[:_NUM_SHOWN])
    raise ValueError(
      f"{len(wrong)} of {len(answers)} answers of the SavedModel differ from "
      f"those of the model, so it is not published. {shown}"
    )
  return Verification(len(answers), largest, reply["ops"], reply["custom_ops"])


def check_served_ops(ops, custom_ops):
  """Refuses ops that TensorFlow Serving's binaries do not have."""
  unknown = sorted(set(custom_ops) - set(TEXT_OPS))
  unknown += [op for op in ops if op in _PYTHON_OPS]
  if unknown:
    raise ValueError(
      f"The graph has the ops {', '.join(unknown)}, which TensorFlow Serving "
      f"lacks. Besides TensorFlow's ops it has {', '.join(TEXT_OPS)}."
    )


def _run_fresh_process(python, saved_model, batches):
  """Returns the reply of fresh_process.py."""
  request = {"saved_model": os.path.abspath(saved_model), "batches": batches}
  done = subprocess.run(
    # -P: do not search the script's folder for modules.
    [python, "-P", fresh_process.__file__],
    input=json.dumps(request),
    env={"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ},
    capture_output=True,
    encoding="utf-8",
    errors="replace",
  )
  if done.returncode:
    raise ChildProcessError(
      "The written SavedModel cannot be asked in a fresh process "
      f"(exit status {done.returncode}):\n{done.stderr[-4000:]}"
    )
  return json.loads(done.stdout.splitlines()[-1])


def _compare_rows(expected_row, row, tolerance):
  """Returns the differences in words, and the largest difference of a score."""
  differences, largest = [], 0.0
  for name, value in expected_row.items():
    expected, actual = (
      x if isinstance(x, list) else [x] for x in (value, row[name])
    )
    actual = actual[: len(expected)]  # without padding
    is_equal = expected == actual
    are_floats = bool(expected) and isinstance(expected[0], float)
    if are_floats and len(actual) == len(expected):
      scale = np.maximum(np.abs(expected), 1)
      difference = float(np.max(np.abs(np.subtract(expected, actual)) / scale))
      is_equal = difference <= tolerance  # False for NaN
      largest = max(largest, difference)
    if not is_equal:
      differences.append(f"{name} should be {value!r}, not {row[name]!r}")
  return differences, largest
