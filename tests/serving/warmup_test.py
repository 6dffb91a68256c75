"""Warm-up requests, replayed through TensorFlow Serving's own interface."""

import concurrent.futures
import os

import pytest
import tensorflow as tf
from exported_model import exported_model
from tiny_extractor import CONTEXT, QUESTION

from bert_span.heads.bio import BIO_HEAD
from bert_span.heads.span import SPAN_HEAD
from bert_span.serving import warmup

_PAIRS = [(QUESTION, CONTEXT), ("When?", "É " + CONTEXT * 5), ("Who?", "")]


@pytest.fixture(scope="module")
def apis():
  """tensorflow-serving-api's modules, or a skip."""
  for name in ("grpc", "tensorflow_serving"):
    pytest.importorskip(name, reason=f"{name} is not installed")
  from tensorflow_serving import apis
  from tensorflow_serving.apis import (  # noqa: F401 -- attributes of apis
    classification_pb2,
    predict_pb2,
    prediction_log_pb2,
    prediction_service_pb2_grpc,
  )

  return apis


@pytest.fixture(scope="module", params=[SPAN_HEAD, BIO_HEAD])
def head(request):
  return request.param


@pytest.fixture(scope="module")
def stub(apis, head):
  """A client of the exported model behind gRPC on this machine."""
  import grpc

  directory, _ = exported_model(head)
  server = grpc.server(concurrent.futures.ThreadPoolExecutor(2))
  service = apis.prediction_service_pb2_grpc
  service.add_PredictionServiceServicer_to_server(
    _servicer(apis, directory), server
  )
  port = server.add_insecure_port("127.0.0.1:0")
  server.start()
  with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
    yield service.PredictionServiceStub(channel)
  server.stop(None)


def _servicer(apis, directory):
  """The generated service over the signatures of a SavedModel."""
  signatures = tf.saved_model.load(directory).signatures

  class Servicer(apis.prediction_service_pb2_grpc.PredictionServiceServicer):
    def Predict(self, request, context):
      signature = signatures[request.model_spec.signature_name]
      outputs = signature(
        **{
          name: tf.constant(tf.make_ndarray(values))
          for name, values in request.inputs.items()
        }
      )
      response = apis.predict_pb2.PredictResponse()
      for name, values in outputs.items():
        response.outputs[name].CopyFrom(tf.make_tensor_proto(values))
      return response

    def Classify(self, request, context):
      examples = [
        example.SerializeToString()
        for example in request.input.example_list.examples
      ]
      outputs = signatures[request.model_spec.signature_name](
        inputs=tf.constant(examples)
      )
      response = apis.classification_pb2.ClassificationResponse()
      for labels, scores in zip(
        outputs["classes"].numpy(), outputs["scores"].numpy(), strict=True
      ):
        classifications = response.result.classifications.add()
        for label, score in zip(labels, scores, strict=True):
          classifications.classes.add(label=label.decode(), score=score)
      return response

  return Servicer()


@pytest.mark.large
def test_the_requests_of_every_signature_replay_over_grpc(
  apis, stub, head, tmp_path
):
  count = warmup.write_warmup_requests(
    tmp_path, "span", [_PAIRS[:1], _PAIRS], 24
  )
  path = os.path.join(tmp_path, "assets.extra", "tf_serving_warmup_requests")
  logs = [
    apis.prediction_log_pb2.PredictionLog.FromString(record.numpy())
    for record in tf.data.TFRecordDataset(path)
  ]
  assert len(logs) == count == 8
  _, extractor = exported_model(head)
  pairs = list(map(list, zip(*_PAIRS, strict=True)))
  expected = extractor.answer(*pairs)
  first_class = expected[0].text
  if head == BIO_HEAD:  # by position
    first_class = extractor.answers(*pairs)[0][0].text
  seen = set()
  for log in logs:
    if log.WhichOneof("log_type") == "classify_log":
      request = log.classify_log.request
      results = stub.Classify(request).result.classifications
      assert len(results) in (1, 3)
      assert results[0].classes[0].label == first_class
    else:
      request = log.predict_log.request
      outputs = stub.Predict(request).outputs
      _check_outputs(request.model_spec.signature_name, outputs, expected)
    assert request.model_spec.name == "span"
    seen.add(request.model_spec.signature_name)
  assert seen == {"serving_default", "logits", "examples", "classify"}


def _check_outputs(signature, outputs, expected):
  if signature == "logits":
    name = "tag_logits" if "tag_logits" in outputs else "start_logits"
    assert tf.make_ndarray(outputs[name]).shape[1] == 24
    return
  answers = tf.make_ndarray(outputs["answer"])
  scores = tf.make_ndarray(outputs["score"])
  for i, (answer, score) in enumerate(zip(answers, scores, strict=True)):
    assert answer.decode() == expected[i].text
    assert score == pytest.approx(expected[i].score, abs=1e-4)


@pytest.fixture(params=[True, False])
def is_installed(request, monkeypatch):
  """Whether tensorflow-serving-api is, as far as `warmup` can see."""
  spec = object() if request.param else None
  monkeypatch.setattr(warmup.importlib.util, "find_spec", lambda name: spec)
  return request.param


def test_by_default_requests_are_written_where_they_can_be(
  is_installed, capsys
):
  assert warmup.are_written(None) == is_installed
  lines = capsys.readouterr().err.splitlines()
  assert len(lines) == (0 if is_installed else 1)
  assert is_installed or "pip install 'bert_span[serving]'" in lines[0]


def test_requests_that_are_insisted_on_are_written_or_refused(is_installed):
  if is_installed:
    assert warmup.are_written(True)
    return
  remedy = r"--warmup: .*bert_span\[serving\].*--nowarmup"
  with pytest.raises(ValueError, match=remedy):
    warmup.are_written(True)


def test_requests_that_are_not_wanted_are_left_out(is_installed, capsys):
  assert not warmup.are_written(False)
  assert not capsys.readouterr().err
