"""Runtimes of others read the written file as tf.lite does."""

import importlib.util

import numpy as np
import pytest
from exported_tflite import exported_tflite
from tensorflow.lite.python.interpreter import Interpreter
from tiny_extractor import CONTEXT, QUESTION, VOCABULARY

from bert_span.answers.window_logits import (
  NO_LOGIT,
  WindowDecoder,
  WindowLogits,
)
from bert_span.data.window_batches import example_arrays
from bert_span.squad.example import SquadExample
from bert_span.tflite.tflite_extractor import TFLiteTextExtractor

# The file's inputs, and what `SlidingWindows` calls them.
_INPUTS = {
  "ids": "input_ids",
  "mask": "input_mask",
  "segment_ids": "segment_ids",
}
_LOGITS = ("start_logits", "end_logits")
_LENGTH = 32
_FILES = [
  ("none", False),
  ("none", True),
  ("float16", False),
  ("dynamic", True),
]
_PASSAGES = [CONTEXT, " ".join(reversed(VOCABULARY[5:] * 3)), "Mill.", "É 日"]
_EXAMPLES = [SquadExample(str(i), QUESTION, c) for i, c in enumerate(_PASSAGES)]
# Largest difference of a logit. OpenVINO sums in another order, and computes
# with floats where TFLite's kernels round activations to 8 bits.
_LITERT_TOLERANCE = 1e-5
_OPENVINO_TOLERANCE = {"none": 1e-4, "float16": 1e-4, "dynamic": 0.5}
_needs_litert = pytest.mark.skipif(
  importlib.util.find_spec("ai_edge_litert") is None,
  reason="ai-edge-litert is not installed",
)


def _windows(extractor):
  """The windows of the examples, padded: dict of arrays."""
  windows = extractor.preprocessor(example_arrays(_EXAMPLES))
  windows = {name: values.numpy() for name, values in windows.items()}
  missing = _LENGTH - windows["input_ids"].shape[1]
  return {
    name: np.pad(values, [(0, 0), (0, missing)]) if values.ndim == 2 else values
    for name, values in windows.items()
  }


def _inputs(windows):
  """Yields the inputs of each window, dict of int32 [1, length]."""
  for row in range(len(windows["input_ids"])):
    yield {name: windows[key][row : row + 1] for name, key in _INPUTS.items()}


def _by_interpreter(interpreter, windows):
  """Start and end logits [windows, length] of an interpreter like TFLite's."""
  inputs = {d["name"]: d["index"] for d in interpreter.get_input_details()}
  outputs = {d["name"]: d["index"] for d in interpreter.get_output_details()}
  for index in inputs.values():
    interpreter.resize_tensor_input(index, [1, _LENGTH])
  interpreter.allocate_tensors()
  logits = []
  for values in _inputs(windows):
    for name, index in inputs.items():
      interpreter.set_tensor(index, values[name])
    interpreter.invoke()
    logits.append([interpreter.get_tensor(outputs[n])[0] for n in _LOGITS])
  return np.stack(logits, axis=1)


def _by_openvino(openvino, path, windows):
  """Start and end logits [windows, length] of OpenVINO."""
  compiled = openvino.Core().compile_model(
    path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}
  )
  logits = []
  for values in _inputs(windows):
    found = {
      key.get_any_name(): output[0]
      for key, output in compiled(values).to_dict().items()
    }
    logits.append([found[name] for name in _LOGITS])
  return np.stack(logits, axis=1)


def _spans(extractor, windows, logits):
  """Places of the answers that the logits give."""
  logits = np.where(windows["input_mask"] == 1, logits, NO_LOGIT)
  named = dict(zip(_LOGITS, logits.astype(np.float32), strict=True))
  found = WindowLogits(_EXAMPLES, windows, named)
  decode = WindowDecoder(extractor.head, extractor.decoder_options)
  return [(p.char_start, p.char_end) for p in decode(found)]


def _check_equal(given, expected, extractor, windows, tolerance):
  """Logits within a tolerance, and the same spans."""
  assert (
    given.shape == expected.shape == (2, len(windows["input_ids"]), _LENGTH)
  )
  np.testing.assert_allclose(given, expected, atol=tolerance, rtol=0)
  spans = _spans(extractor, windows, given)
  assert spans == _spans(extractor, windows, expected)
  assert any(end > start for start, end in spans)


@pytest.fixture(params=_FILES, ids=str)
def written(request):
  """A file, its quantization and extractor, windows and tf.lite's logits."""
  quantization, dynamic_length = request.param
  path, extractor = exported_tflite(
    quantization=quantization, dynamic_length=dynamic_length
  )
  windows = _windows(extractor)
  expected = _by_interpreter(Interpreter(path), windows)
  return path, quantization, extractor, windows, expected


@pytest.mark.large
@_needs_litert
def test_litert_gives_the_logits_of_tf_lite(written):
  from ai_edge_litert.interpreter import Interpreter as LiteRTInterpreter

  path, _, extractor, windows, expected = written
  given = _by_interpreter(LiteRTInterpreter(path), windows)
  _check_equal(given, expected, extractor, windows, _LITERT_TOLERANCE)


@pytest.mark.large
@_needs_litert
def test_litert_answers_from_strings_as_tf_lite():
  from ai_edge_litert.interpreter import InterpreterWithCustomOps
  from tensorflow_text import tflite_registrar

  path, _ = exported_tflite(dynamic_length=True, with_tokenizer=True)
  run = InterpreterWithCustomOps(
    tflite_registrar.SELECT_TFTEXT_OPS, model_path=path
  ).get_signature_runner()
  extractor = TFLiteTextExtractor(path)
  for example in _EXAMPLES:
    expected = extractor.columns(example.question, example.context)
    given = run(
      question=np.array([example.question.encode()], object),
      context=np.array([example.context.encode()], object),
    )
    assert set(given) == set(expected)
    for name, values in expected.items():
      np.testing.assert_allclose(given[name], values, atol=_LITERT_TOLERANCE)


@pytest.mark.large
@pytest.mark.skipif(
  importlib.util.find_spec("openvino") is None,
  reason="openvino is not installed",
)
def test_openvino_gives_the_logits_of_tf_lite(written):
  import openvino

  path, quantization, extractor, windows, expected = written
  given = _by_openvino(openvino, path, windows)
  tolerance = _OPENVINO_TOLERANCE[quantization]
  _check_equal(given, expected, extractor, windows, tolerance)
