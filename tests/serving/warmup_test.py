"""Warm-up requests for TensorFlow Serving."""

import pytest
import tensorflow as tf

from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.serving import warmup
from tests.support.models import CONTEXT, QUESTION, served_model


@pytest.mark.large
def test_the_requests_of_every_signature_are_answered(tmp_path):
  prediction_log_pb2 = pytest.importorskip(
    "tensorflow_serving.apis.prediction_log_pb2",
    reason="needs tensorflow-serving-api",
  )
  pairs = [(QUESTION, CONTEXT), ("When?", "É " + CONTEXT * 5), ("Who?", "")]
  warmup.write_warmup_requests(tmp_path, "span", [pairs[:1], pairs], 24)
  path = tmp_path / "assets.extra" / "tf_serving_warmup_requests"
  records = tf.data.TFRecordDataset(str(path)).as_numpy_iterator()
  logs = list(map(prediction_log_pb2.PredictionLog.FromString, records))
  assert len(logs) == 4
  served, extractor = served_model(SpanExtractor)
  expected = extractor.answer(*map(list, zip(*pairs, strict=True)))
  seen = set()
  for log in logs:
    request = log.predict_log.request
    name = request.model_spec.signature_name
    seen.add(name)
    inputs = {
      n: tf.constant(tf.make_ndarray(x)) for n, x in request.inputs.items()
    }
    outputs = served.functions[name](**inputs)
    assert request.model_spec.name == "span"
    if name == "logits":
      assert outputs["start_logits"].shape[1] == 24
      continue
    answers = [text.decode() for text in outputs["answer"].numpy()]
    assert answers == [e.text for e in expected[: len(answers)]]
  assert seen == set(served.functions)


def test_requests_without_their_package_are_refused(monkeypatch):
  monkeypatch.setattr(warmup.importlib.util, "find_spec", lambda _: None)
  assert not warmup.check_warmup(None)
  with pytest.raises(ValueError, match="with_warmup=False"):
    warmup.check_warmup(True)
