"""Other runtimes compute the same logits and answers as tf.lite."""

import numpy as np
import pytest
from exported_tflite import TEXT_FILE, exported_tflite
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

# The inputs of the file, and their names in `SlidingWindows`.
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


@pytest.fixture(params=_FILES, ids=str)
def written(request):
  """A file, its quantization and extractor, windows and tf.lite's logits."""
  quantization, dynamic_length = request.param
  path, extractor = exported_tflite(
    quantization=quantization, dynamic_length=dynamic_length
  )
  windows = extractor.preprocessor(example_arrays(_EXAMPLES))
  windows = {name: values.numpy() for name, values in windows.items()}
  missing = [(0, 0), (0, _LENGTH - windows["input_ids"].shape[1])]
  windows = {
    name: np.pad(values, missing) if values.ndim == 2 else values
    for name, values in windows.items()
  }
  run = Interpreter(path).get_signature_runner()
  return path, quantization, extractor, windows, _logits(run, windows)


def _logits(run, windows):
  """Start and end logits [2, windows, length] of a function of the inputs."""
  found = [
    run(**{name: windows[key][row : row + 1] for name, key in _INPUTS.items()})
    for row in range(len(windows["input_ids"]))
  ]
  return np.array([[row[name][0] for row in found] for name in _LOGITS])


def _check_equal(given, expected, extractor, windows, tolerance):
  """Logits within a tolerance, and the same spans."""
  assert expected.shape == (2, len(windows["input_ids"]), _LENGTH)
  np.testing.assert_allclose(given, expected, atol=tolerance, rtol=0)
  decode = WindowDecoder(extractor.head, extractor.decoder_options)
  spans, expected_spans = (
    [
      (p.char_start, p.char_end)
      for p in decode(
        WindowLogits(
          _EXAMPLES,
          windows,
          {
            name: np.where(windows["input_mask"] == 1, values, NO_LOGIT).astype(
              np.float32
            )
            for name, values in zip(_LOGITS, logits, strict=True)
          },
        )
      )
    ]
    for logits in (given, expected)
  )
  assert spans == expected_spans
  assert any(end > start for start, end in spans)


@pytest.mark.large
def test_litert_gives_the_logits_of_tf_lite(written):
  litert = pytest.importorskip("ai_edge_litert.interpreter")
  path, _, extractor, windows, expected = written
  given = _logits(litert.Interpreter(path).get_signature_runner(), windows)
  _check_equal(given, expected, extractor, windows, _LITERT_TOLERANCE)


@pytest.mark.large
def test_litert_answers_from_strings_as_tf_lite():
  litert = pytest.importorskip("ai_edge_litert.interpreter")
  from tensorflow_text import tflite_registrar

  path, _ = exported_tflite(**TEXT_FILE)
  run = litert.InterpreterWithCustomOps(
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
def test_openvino_gives_the_logits_of_tf_lite(written):
  openvino = pytest.importorskip("openvino")
  path, quantization, extractor, windows, expected = written
  compiled = openvino.Core().compile_model(
    path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}
  )

  def run(**inputs):
    found = compiled(inputs).to_dict().items()
    return {key.get_any_name(): values for key, values in found}

  tolerance = _OPENVINO_TOLERANCE[quantization]
  given = _logits(run, windows)
  _check_equal(given, expected, extractor, windows, tolerance)
