"""The client over gRPC, against the generated PredictionService."""

import concurrent.futures
import time

import pytest
import tensorflow as tf

from bert_span.client import retries
from bert_span.client.endpoint import Credentials
from bert_span.client.retries import RetryOptions
from bert_span.client.span_client import SpanClient
from tests.support.servers import client_of, first_word

prediction_service = pytest.importorskip(
  "tensorflow_serving.apis.prediction_service_pb2_grpc",
  reason="needs the package tensorflow-serving-api",
)
predict_pb2 = pytest.importorskip("tensorflow_serving.apis.predict_pb2")
grpc = pytest.importorskip("grpc")


class _Servicer(prediction_service.PredictionServiceServicer):
  """Answers as a `ModelServer`, after the scripted failures."""

  def __init__(self):
    self.answer = first_word  # of question and context: an output row
    self.failures = []  # (code, details), one a request
    self.delay = 0.0  # seconds before each reply
    self.requests = []  # (PredictRequest, metadata)

  def Predict(self, request, context):
    metadata = dict(context.invocation_metadata())
    self.requests.append((request, metadata))
    time.sleep(self.delay)
    if self.failures:
      context.abort(*self.failures.pop(0))
    columns = {
      name: [text.decode() for text in tf.make_ndarray(tensor)]
      for name, tensor in request.inputs.items()
    }
    rows = list(map(self.answer, columns["question"], columns["context"]))
    response = predict_pb2.PredictResponse()
    for name in rows[0]:
      values = [row[name] for row in rows]
      response.outputs[name].CopyFrom(tf.make_tensor_proto(values))
    return response


@pytest.fixture
def service():
  servicer = _Servicer()
  server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
  prediction_service.add_PredictionServiceServicer_to_server(servicer, server)
  port = server.add_insecure_port("127.0.0.1:0")
  server.start()
  servicer.address = f"grpc://127.0.0.1:{port}"
  yield servicer
  server.stop(0)


def test_batches_get_the_answers_of_rest(service, server):
  questions = ["Who?"] * 3, ["Ada came.", "日本 👩\u200d👧", " "]
  with client_of(service, batch_size=2) as client:
    answers = client.answer(*questions)
  assert [answer.text for answer in answers] == ["Ada", "日本", ""]
  assert answers == client_of(server).answer(*questions)
  columns = [request.inputs["question"] for request, _ in service.requests]
  assert [column.tensor_shape.dim[0].size for column in columns] == [2, 1]


def test_version_and_label_and_token_are_sent(service):
  credentials = Credentials(bearer_token="s3cret")
  client = client_of(service, model="m", version=3, credentials=credentials)
  client.answer("Who?", "Ada")
  client_of(service, label="stable").answer("Who?", "Ada")
  (first, metadata), (second, bare) = service.requests
  assert first.model_spec.name == "m"
  assert first.model_spec.signature_name == "serving_default"
  assert first.model_spec.version.value == 3
  assert metadata["authorization"] == "Bearer s3cret"
  assert second.model_spec.version_label == "stable"
  assert "authorization" not in bare


def test_unavailable_is_tried_again_until_it_is_given_up(service):
  service.failures = [(grpc.StatusCode.UNAVAILABLE, "queue is full")] * 5
  error = retries.ServerUnavailableError
  with pytest.raises(error, match=rf"{service.address}.*queue is full"):
    client_of(service).answer("Who?", "Ada")
  assert client_of(service).answer("Who?", "Ada").text == "Ada"
  assert len(service.requests) == 3 + 3
  options = RetryOptions(max_attempts=1)
  with pytest.raises(error, match=r"127\.0\.0\.1:1"):
    SpanClient("grpc://127.0.0.1:1", retry_options=options).answer("Who?", "a")


def test_other_errors_are_not_repeated(service):
  service.failures = [(grpc.StatusCode.UNAUTHENTICATED, "what it says.")]
  text = r"UNAUTHENTICATED: what it says\. .*bearer_token"
  with pytest.raises(retries.RequestRefusedError, match=text):
    client_of(service).answer("Who?", "Ada")
  assert len(service.requests) == 1


def test_a_model_of_something_else_is_named_by_its_outputs(service):
  service.answer = lambda question, context: {"logits": 1.0}
  with pytest.raises(retries.ServingError, match="logits"):
    client_of(service).answer("Who?", "Ada")


def test_a_late_reply_ends_with_the_timeout_and_is_not_repeated(service):
  service.delay = 1.0
  client = SpanClient(service.address, retry_options=RetryOptions(timeout=0.3))
  with pytest.raises(retries.ServerTimeoutError):
    client.answer("Who?", "Ada")
  assert len(service.requests) == 1


def test_a_file_of_credentials_that_is_absent_is_named():
  with pytest.raises(ValueError, match=r"absent\.pem"):
    SpanClient("grpcs://a", credentials=Credentials(ca_file="absent.pem"))
