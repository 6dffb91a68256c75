"""Verifies that a TFLite file gives the answers of its model."""

import math
import os

import numpy as np

from bert_span.storage.files import read_bytes
from bert_span.storage.log import log_line, progress
from bert_span.tflite import file as tflite_file
from bert_span.tflite.conversion import INPUT_NAMES
from bert_span.tflite.tflite_extractor import (
  TFLiteSpanExtractor,
  make_interpreter,
)

# The least share of sample questions with exactly the same answer.
# Quantization changes some answers; a damaged file changes nearly all.
_LEAST_EQUAL = {"none": 1.0, "float16": 0.97, "dynamic": 0.6}
# Sums of float32 are computed in another order.
_TOLERANCE = 1e-3
_MAX_SHOWN = 5  # differences


def verify_file(path, extractor, examples, quantization):
  """Compares a TFLite file with its model.

  Returns a dict for the report: num_questions; num_equal, the questions with
  the model's answer; largest_difference between scores of equal answers; ops,
  counts by name; size_bytes of the file; peak_arena_bytes for the longest
  window. Raises ValueError if the file needs ops that runtimes lack, returns
  NaN or an infinity, or has too few equal answers.
  """
  ops = tflite_file.op_counts(tflite_file.parse(read_bytes(path)))
  tflite_file.check_builtin_ops(ops)
  candidate = TFLiteSpanExtractor(
    path,
    extractor.window_options,
    extractor.decoder_options,
    num_threads=os.cpu_count(),
  )
  _check_lengths(candidate.runner)
  log_line(f"Answering {len(examples)} questions with the file ...")
  actual = list(progress(_checked_answers(candidate, examples), len(examples)))
  log_line("Answering them with the model ...")
  expected = list(progress(extractor.predictions(examples), len(examples)))
  num_equal, largest_difference = _compare(expected, actual, quantization)
  return {
    "num_questions": len(examples),
    "num_equal": num_equal,
    "largest_difference": largest_difference,
    "ops": ops,
    "size_bytes": os.path.getsize(path),
    "peak_arena_bytes": peak_arena_bytes(
      path, dict.fromkeys(INPUT_NAMES, candidate.runner.max_length)
    ),
  }


def _checked_answers(candidate, examples):
  """Yields the `Prediction`s of a TFLite file; logits must be finite."""
  for window_logits in candidate.window_logits(examples):
    _check_finite(window_logits.logits, "sample questions")
    yield from candidate.decode(window_logits)


def _check_lengths(runner):
  """Runs padding alone, a single WordPiece, and windows of several lengths."""
  longest = runner.max_length
  # The runner pads shorter windows of a fixed length.
  lengths = {1, 2, longest // 2, longest} if runner.is_dynamic else {longest}
  for length in sorted(lengths):
    for num_tokens in sorted({0, 1, length // 2, length}):
      mask = (np.arange(length) < num_tokens).astype(np.int32)
      inputs = f"a window of {length} positions with {num_tokens} WordPieces"
      _check_finite(runner(mask, mask, 0 * mask), inputs)


def _check_finite(outputs, inputs):
  for name, values in outputs.items():
    if not np.isfinite(values).all():
      raise ValueError(
        f"The TFLite file returns NaN or an infinity in {name} for {inputs}. "
        "Its weights are damaged or were not saved."
      )


def _compare(expected, actual, quantization):
  """Returns the number of equal answers, and their largest difference."""
  largest, different = 0.0, []
  for prediction, by_file in zip(expected, actual, strict=True):
    name = f"question {prediction.qas_id}"
    best, answer = prediction.answer, by_file.answer
    _check_finite({"the score": answer.score}, name)
    if _span_offsets(prediction) != _span_offsets(by_file):
      different.append(
        f"{name}: {best.text!r} at {best.char_start}, and the file "
        f"{answer.text!r} at {answer.char_start}"
      )
      continue
    largest = max(largest, abs(best.score - answer.score))
    for field in ("score", "probability", "null_odds"):
      values = getattr(best, field), getattr(answer, field)
      is_close = math.isclose(*values, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
      if quantization == "none" and not is_close:
        different.append("{}: {} {}, the file {}".format(name, field, *values))
        break
  num_equal = len(expected) - len(different)
  least = _LEAST_EQUAL[quantization]
  # Two standard errors: the share of a few questions varies.
  margin = 2 * math.sqrt(least * (1 - least) * len(expected))
  if num_equal < least * len(expected) - margin:
    raise ValueError(
      f"{len(different)} of {len(expected)} answers of the TFLite file differ "
      f"from those of the model; with quantization={quantization} at least "
      f"some {least:.0%} must be equal. " + "; ".join(different[:_MAX_SHOWN])
    )
  return num_equal, largest


def _span_offsets(prediction):
  return [(span.char_start, span.char_end) for span in prediction.spans]


def peak_arena_bytes(path, lengths):
  """Computes the largest total size of tensors that are live together.

  The runtime allocates tensors in one arena and frees each after its last use:

      op 0: a -> b     live: a, b
      op 1: b -> c     live: b, c
      op 2: c, b -> d  live: b, c, d  <- the peak, if all have the same size

  The arena of TFLite's kernels is at least as large as the peak; delegates such
  as XNNPACK allocate more. The peak of a loop's graph is added to that of the
  graph around it. Constants and strings are not counted. Inputs are int32
  [1, length], with their `lengths` by name.
  """
  interpreter = make_interpreter(path, plain_kernels=True)
  if any(-1 in x["shape_signature"] for x in interpreter.get_input_details()):
    # The sizes are known only after a run.
    run = interpreter.get_signature_runner()
    run(**{name: np.zeros([1, n], np.int32) for name, n in lengths.items()})
  else:
    interpreter.allocate_tensors()
  model = tflite_file.parse(read_bytes(path))
  peak = 0
  for number, graph in enumerate(model.subgraphs):
    # Tensors of a loop that did not run have no size.
    sizes = {
      detail["index"]: math.prod(map(int, detail["shape"]))
      * np.dtype(detail["dtype"]).itemsize
      for detail in interpreter.get_tensor_details(number)
    }
    first, last = dict.fromkeys(graph.inputs, 0), {}
    for step, operator in enumerate(graph.operators):
      for index in operator.outputs:
        first.setdefault(index, step)
      for index in (*operator.inputs, *operator.outputs):
        last[index] = step
    last.update(dict.fromkeys(graph.outputs, len(graph.operators)))
    changes = np.zeros(len(graph.operators) + 2, np.int64)
    for index, begin in first.items():
      if model.buffers[graph.tensors[index].buffer].data is None:
        changes[begin] += sizes.get(index, 0)
        changes[last.get(index, begin) + 1] -= sizes.get(index, 0)
    peak += int(np.cumsum(changes).max())
  return peak
