"""Other runtimes compute the same logits and answers as tf.lite."""

import numpy as np
import pytest
from exported_tflite import TEXT_FILE, exported_tflite, opened_tflite
from tensorflow.lite.python.interpreter import Interpreter
from tiny_extractor import CONTEXT, QUESTION, VOCABULARY

from bert_span.squad.example import SquadExample

pytestmark = pytest.mark.large

_PASSAGES = [CONTEXT, " ".join(reversed(VOCABULARY[5:] * 3)), "Mill.", "É 日"]
_EXAMPLES = [SquadExample(str(i), QUESTION, c) for i, c in enumerate(_PASSAGES)]
# Largest difference of a logit. OpenVINO sums in another order, and computes
# with floats where TFLite's kernels round activations to 8 bits.
_LITERT_TOLERANCE = 1e-5
_OPENVINO_TOLERANCE = {"none": 1e-4, "float16": 1e-4, "dynamic": 0.5}


@pytest.fixture(params=["none", "float16", "dynamic"])
def file(request):
  """Arguments of `exported_tflite`."""
  other = {"quantization": request.param, "dynamic_length": True}
  return {} if request.param == "none" else other


@pytest.fixture
def check_as_tf_lite(file, monkeypatch):
  """A function that compares a runtime's function of the inputs, see below."""
  extractor = opened_tflite(**file)

  def logits_and_spans(run):
    monkeypatch.setattr(extractor.runner, "_run", run)
    batches = []
    found = list(extractor.predict(_EXAMPLES, on_logits=batches.append))
    (batch,) = batches
    return batch.logits, [(p.char_start, p.char_end) for p in found]

  def check(run, tolerance):
    """Logits within a tolerance, and the same spans."""
    tf_lite = Interpreter(exported_tflite(**file)[0]).get_signature_runner()
    expected, expected_spans = logits_and_spans(tf_lite)
    given, spans = logits_and_spans(run)
    assert set(given) == {"start_logits", "end_logits"}
    for name, values in expected.items():
      np.testing.assert_allclose(given[name], values, atol=tolerance, rtol=0)
    assert spans == expected_spans
    assert any(end > start for start, end in spans)

  return check


def test_litert_gives_the_logits_of_tf_lite(file, check_as_tf_lite):
  litert = pytest.importorskip("ai_edge_litert.interpreter")
  path, _ = exported_tflite(**file)
  run = litert.Interpreter(path).get_signature_runner()
  check_as_tf_lite(run, _LITERT_TOLERANCE)


def test_litert_answers_from_strings_as_tf_lite():
  litert = pytest.importorskip("ai_edge_litert.interpreter")
  from tensorflow_text import tflite_registrar

  path, _ = exported_tflite(**TEXT_FILE)
  run = litert.InterpreterWithCustomOps(
    tflite_registrar.SELECT_TFTEXT_OPS, model_path=path
  ).get_signature_runner()
  extractor = opened_tflite(**TEXT_FILE)
  for example in _EXAMPLES:
    texts = example.question, example.context
    expected, given = extractor.columns(*texts), run(**extractor.inputs(*texts))
    assert set(given) == set(expected)
    for name, values in expected.items():
      np.testing.assert_allclose(given[name], values, atol=_LITERT_TOLERANCE)


def test_openvino_gives_the_logits_of_tf_lite(file, check_as_tf_lite):
  openvino = pytest.importorskip("openvino")
  path, _ = exported_tflite(**file)
  compiled = openvino.Core().compile_model(
    path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}
  )

  def run(**inputs):
    found = compiled(inputs).to_dict().items()
    return {key.get_any_name(): values for key, values in found}

  check_as_tf_lite(run, _OPENVINO_TOLERANCE[file.get("quantization", "none")])
