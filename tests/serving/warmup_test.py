"""Warm-up requests, replayed on the exported model."""

import os

import pytest
import tensorflow as tf
from exported_model import exported_model
from tiny_extractor import CONTEXT, QUESTION

from bert_span.heads.bio import BIO_HEAD
from bert_span.heads.span import SPAN_HEAD
from bert_span.serving import warmup

_PAIRS = [(QUESTION, CONTEXT), ("When?", "É " + CONTEXT * 5), ("Who?", "")]


@pytest.mark.large
@pytest.mark.parametrize("head", [SPAN_HEAD, BIO_HEAD])
def test_the_requests_of_every_signature_are_answered(head, tmp_path):
  prediction_log_pb2 = pytest.importorskip(
    "tensorflow_serving.apis.prediction_log_pb2",
    reason="needs tensorflow-serving-api",
  )
  count = warmup.write_warmup_requests(
    tmp_path, "span", [_PAIRS[:1], _PAIRS], 24
  )
  path = os.path.join(tmp_path, "assets.extra", "tf_serving_warmup_requests")
  logs = [
    prediction_log_pb2.PredictionLog.FromString(record.numpy())
    for record in tf.data.TFRecordDataset(path)
  ]
  assert len(logs) == count == 8
  directory, extractor = exported_model(head)
  model = tf.saved_model.load(directory)
  pairs = list(map(list, zip(*_PAIRS, strict=True)))
  expected = extractor.answer(*pairs)
  first_class = expected[0].text
  if head == BIO_HEAD:  # by position
    first_class = extractor.answers(*pairs)[0][0].text
  seen = set()
  for log in logs:
    is_classify = log.WhichOneof("log_type") == "classify_log"
    request = (log.classify_log if is_classify else log.predict_log).request
    if is_classify:
      examples = request.input.example_list.examples
      inputs = {"inputs": [e.SerializeToString() for e in examples]}
    else:
      inputs = {n: tf.make_ndarray(x) for n, x in request.inputs.items()}
    name = request.model_spec.signature_name
    outputs = model.signatures[name](
      **{n: tf.constant(values) for n, values in inputs.items()}
    )
    outputs = {n: values.numpy() for n, values in outputs.items()}
    assert request.model_spec.name == "span"
    seen.add(name)
    if is_classify:
      assert outputs["classes"][0, 0].decode() == first_class
    elif name == "logits":
      assert outputs[next(iter(head.logits))].shape[1] == 24
    else:
      answers = [text.decode() for text in outputs["answer"]]
      assert answers == [e.text for e in expected[: len(answers)]]
  assert seen == {"serving_default", "logits", "examples", "classify"}


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
  assert is_installed or "bert_span[serving]" in lines[0]


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
