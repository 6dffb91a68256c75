"""Proves that a written SavedModel gives the answers of the Python path."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np

from bert_span.serving import fresh_process
from bert_span.text.encodable import encodable

# Ops of tensorflow-text that the graph may have. TensorFlow Serving links that
# package's library of ops (ops_lib in tensorflow_serving/model_servers/BUILD).
# Of the younger ops some releases lack some; both of these it has long had.
TEXT_OPS = ("FastWordpieceTokenizeWithOffsets", "NormalizeUTF8")
# TensorFlow's own, but a server has no Python to run them with.
_PYTHON_OPS = ("EagerPyFunc", "PyFunc", "PyFuncStateless")

_SHOWN = 5  # differences


@dataclasses.dataclass(frozen=True)
class Verification:
  """What a verification found; all answers were equal.

  Attributes:
    num_questions: questions that were asked.
    largest_difference: of a score or a probability.
    ops: names of all ops in the graph.
    text_ops: those of tensorflow-text.
  """

  num_questions: int
  largest_difference: float
  ops: tuple[str, ...]
  text_ops: tuple[str, ...]


def verify(saved_model, batches, predictions, tolerance):
  """Asks a SavedModel in a fresh process and compares with predictions.

  The process imports tensorflow and tensorflow_text only. Equal must be the
  answer, its place and whether there is one; scores, probabilities and null
  odds, of the answer and of the n-best list, may differ by the tolerance.

  Args:
    saved_model: directory of the SavedModel.
    batches: list of lists of `SquadExample`; each question has a WordPiece.
    predictions: list of `Prediction`, of all these examples in their order.
    tolerance: largest difference between scores.

  Returns:
    `Verification`.

  Raises:
    ValueError: an answer differs, or the graph has an op that TensorFlow
      Serving does not have.
    RuntimeError: the SavedModel cannot be loaded or asked.
  """
  reply = _ask(saved_model, [_inputs(batch) for batch in batches])
  check_ops(reply["ops"], reply["custom_ops"])
  answers = [row for columns in reply["answers"] for row in _rows(columns)]
  differences, largest = [], 0.0
  for prediction, answer in zip(predictions, answers, strict=True):
    expected = _expected(prediction)
    difference = _difference(expected, answer)
    # The negation also refuses NaN.
    if not (_is_same_span(expected, answer) and difference <= tolerance):
      differences.append(
        f"question {prediction.qas_id}: expected {_shown(expected)}, but the "
        f"SavedModel answers {_shown(answer)}"
      )
    largest = max(largest, difference)
  if differences:
    raise ValueError(
      f"{len(differences)} of {len(answers)} answers of the SavedModel differ "
      "from those of the model, so it is not published. "
      + "; ".join(differences[:_SHOWN])
    )
  return Verification(
    len(answers), largest, tuple(reply["ops"]), tuple(reply["custom_ops"])
  )


def check_ops(ops, custom_ops):
  """Refuses ops that TensorFlow Serving's binaries do not have.

  Args:
    ops: names of the graph's ops.
    custom_ops: those of them that are not TensorFlow's own.

  Raises:
    ValueError: there is such an op.
  """
  unknown = sorted(set(custom_ops) - set(TEXT_OPS))
  unknown += [op for op in ops if op in _PYTHON_OPS]
  if unknown:
    raise ValueError(
      f"The graph has the ops {', '.join(unknown)}, which TensorFlow Serving "
      f"does not have. Beside TensorFlow's own only {', '.join(TEXT_OPS)} may "
      "be in it."
    )


def _ask(saved_model, batches):
  """The reply of fresh_process.py."""
  with tempfile.TemporaryDirectory() as folder:
    request_path = os.path.join(folder, "request.json")
    reply_path = os.path.join(folder, "reply.json")
    request = {"saved_model": os.path.abspath(saved_model), "batches": batches}
    with open(request_path, "w", encoding="utf-8") as file:
      json.dump(request, file)
    # A script's own folder is searched for modules: let it be this one.
    script = shutil.copy(fresh_process.__file__, folder)
    done = subprocess.run(
      [sys.executable, script, request_path, reply_path],
      env={"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ},
      stderr=subprocess.PIPE,
      encoding="utf-8",
      errors="replace",
    )
    if done.returncode:
      raise RuntimeError(
        "The SavedModel that was written cannot be asked in a fresh process "
        f"(exit status {done.returncode}):\n{done.stderr[-4000:]}"
      )
    with open(reply_path, encoding="utf-8") as file:
      return json.load(file)


def _inputs(examples):
  """The inputs of the signature serving_default."""
  return {
    "question": [encodable(example.question) for example in examples],
    "context": [encodable(example.context) for example in examples],
  }


def _rows(columns):
  """Columns of a batch as one dict for each question."""
  names = list(columns)
  for values in zip(*columns.values(), strict=True):
    yield dict(zip(names, values, strict=True))


def _expected(prediction):
  """A `Prediction` as the row of a served answer."""
  entries = prediction.n_best
  return {
    "answer": encodable(prediction.text),
    "char_start": prediction.char_start,
    "char_end": prediction.char_end,
    "is_answerable": bool(prediction.text),
    "n_best_count": len(entries),
    "score": prediction.score,
    "probability": prediction.probability,
    "null_odds": prediction.null_odds,
    "n_best_score": [entry.score for entry in entries],
    "n_best_probability": [entry.probability for entry in entries],
  }


_EXACT = ("answer", "char_start", "char_end", "is_answerable", "n_best_count")
_CLOSE = (
  *("score", "probability", "null_odds"),
  *("n_best_score", "n_best_probability"),
)


def _is_same_span(expected, answer):
  return all(expected[name] == answer[name] for name in _EXACT)


def _difference(expected, answer):
  """The largest one of scores and probabilities; padding is left out."""
  differences = []
  for name in _CLOSE:
    wanted = np.atleast_1d(expected[name])
    given = np.atleast_1d(answer[name])[: len(wanted)]
    differences.append(np.max(np.abs(wanted[: len(given)] - given)))
  return float(np.max(differences))


def _shown(row):
  return (
    f"{row['answer']!r} at {row['char_start']} to {row['char_end']} with score "
    f"{row['score']:.6f}, null odds {row['null_odds']:.6f}"
  )
