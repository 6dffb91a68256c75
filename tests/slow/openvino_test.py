"""OpenVINO and LiteRT compute the logits and answers of tf.lite."""

import numpy as np
import pytest
from tensorflow.lite.python.interpreter import Interpreter

from bert_span.squad.example import SquadExample
from tests.support.models import (
  CONTEXT,
  QUESTION,
  VOCABULARY,
  exported_tflite,
  opened_tflite,
)

_PASSAGES = [CONTEXT, " ".join(reversed(VOCABULARY[5:] * 3)), "Mill.", "É 日"]
_EXAMPLES = [SquadExample(str(i), QUESTION, c) for i, c in enumerate(_PASSAGES)]
_LITERT_TOLERANCE = 1e-5


def litert(path):
  module = pytest.importorskip("ai_edge_litert.interpreter")
  return module.Interpreter(path).get_signature_runner()


def openvino(path):
  module = pytest.importorskip("openvino")
  options = {"INFERENCE_PRECISION_HINT": "f32"}
  compiled = module.Core().compile_model(path, "CPU", options)

  def run(**inputs):
    outputs = compiled(inputs).to_dict().items()
    return {key.get_any_name(): values for key, values in outputs}

  return run


@pytest.mark.parametrize(
  ("runtime", "quantization", "tolerance"),
  [
    (litert, "none", _LITERT_TOLERANCE),
    (litert, "float16", _LITERT_TOLERANCE),
    (litert, "dynamic", _LITERT_TOLERANCE),
    # OpenVINO sums in another order, and computes with floats where TFLite's
    # kernels round activations to 8 bits.
    (openvino, "none", 1e-4),
    (openvino, "float16", 1e-4),
    (openvino, "dynamic", 0.5),
  ],
)
def test_a_runtime_gives_logits_and_spans_of_tf_lite(
  runtime, quantization, tolerance, monkeypatch
):
  is_dynamic = quantization != "none"
  file = {"quantization": quantization, "dynamic_length": is_dynamic}
  path, _ = exported_tflite(**file)
  extractor = opened_tflite(**file)
  batches, spans = [], []
  for run in (Interpreter(path).get_signature_runner(), runtime(path)):
    monkeypatch.setattr(extractor.runner, "signature", run)
    (batch,) = extractor.window_logits(_EXAMPLES)
    batches.append(batch)
    answers = [prediction.answer for prediction in extractor.decode(batch)]
    spans.append([(a.char_start, a.char_end) for a in answers])
  expected, given = (batch.logits for batch in batches)
  assert set(given) == {"start_logits", "end_logits"}
  for name, values in expected.items():
    np.testing.assert_allclose(given[name], values, atol=tolerance, rtol=0)
  assert spans[0] == spans[1]
  assert any(end > start for start, end in spans[0])
