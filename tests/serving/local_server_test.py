"""The local server: TensorFlow Serving's REST, its limits, and its page."""

import contextlib
import functools
import http.client
import itertools
import json
import queue
import threading
import time

import pytest
import uvicorn
from exported_model import served_model
from running_app import running_app
from tiny_extractor import QUESTION

from bert_span.heads.span import SPAN_HEAD
from bert_span.serving import local_server
from bert_span.serving.client import RetryOptions, SpanClient
from bert_span.serving.options import ServerOptions

_CONTEXT = "😀 The mill was built by Anna in 1895, near the river. " * 3
_ROW = {"question": QUESTION, "context": _CONTEXT}
_PREDICT = "/v1/models/bert_span:predict"


def _app(**options):
  served, extractor = served_model(SPAN_HEAD)
  options = ServerOptions(**options)
  return local_server.model_app(served, extractor.preprocessor, options)


@pytest.fixture(scope="module")
def port():
  with running_app(_app(max_request_bytes=5000)) as number:
    yield number


def _request(port, path, body=None):
  """The status and the JSON of a reply; `body` is bytes or a JSON value."""
  if body is not None and not isinstance(body, bytes):
    body = json.dumps(body).encode()
  address = ("127.0.0.1", port)
  with contextlib.closing(http.client.HTTPConnection(*address)) as connection:
    connection.request("GET" if body is None else "POST", path, body)
    response = connection.getresponse()
    return response.status, json.loads(response.read())


def test_the_client_gets_the_answers_of_the_extractor(port):
  # The first question takes long on a busy machine: the graph is made.
  options = RetryOptions(timeout=300.0, deadline=300.0)
  with SpanClient(f"http://127.0.0.1:{port}", retry_options=options) as client:
    answer = client.answer(QUESTION, _CONTEXT)
  expected = served_model(SPAN_HEAD)[1].answer(QUESTION, _CONTEXT)
  assert answer[:3] == expected[:3]
  assert answer.probability == pytest.approx(expected.probability, abs=1e-5)


def test_columns_have_the_outputs_of_rows(port):
  _, rows = _request(port, _PREDICT, {"instances": [_ROW]})
  columns = {name: [text] for name, text in _ROW.items()}
  _, reply = _request(port, _PREDICT, {"inputs": columns})
  first = {name: values[0] for name, values in reply["outputs"].items()}
  assert [first] == rows["predictions"]


def test_every_signature_is_described_and_status_is_available(port):
  _, reply = _request(port, "/v1/models/bert_span/metadata")
  signatures = reply["metadata"]["signature_def"]["signature_def"]
  assert set(signatures) == {"serving_default", "logits", "examples"}
  default = signatures["serving_default"]
  assert set(default["inputs"]) == {"question", "context"}
  assert default["outputs"]["answer"]["dtype"] == "DT_STRING"
  assert default["outputs"]["n_best_score"]["dtype"] == "DT_FLOAT"
  _, reply = _request(port, "/v1/models/bert_span/versions/1")
  assert reply["model_version_status"][0]["state"] == "AVAILABLE"


@pytest.mark.parametrize(
  ("path", "body", "status"),
  [
    (_PREDICT, b"\xff", 400),
    (_PREDICT, b"[" * 4000, 400),
    (_PREDICT, {"instances": []}, 400),
    (_PREDICT, {"instances": [{"question": "?"}]}, 400),
    (_PREDICT, {"instances": [{"question": 1, "context": "a"}]}, 400),
    (_PREDICT, {"inputs": {"question": ["?"], "context": []}}, 400),
    (_PREDICT, {"instances": [], "inputs": {}}, 400),
    (_PREDICT, {"signature_name": "x", "instances": [{}]}, 400),
    (_PREDICT, b" " * 5001, 413),
    ("/v1/models/other:predict", {}, 404),
    ("/v1/models/bert_span/versions/2:predict", {}, 404),
    ("/windows", {"question": "?"}, 400),
  ],
)
def test_a_wrong_request_gets_one_error(port, path, body, status):
  received, reply = _request(port, path, body)
  assert received == status
  assert reply["error"]


def test_a_lone_surrogate_is_a_character(port):
  row = b'{"instances": [{"question": "\\ud83d", "context": "a\\ud83d"}]}'
  assert _request(port, _PREDICT, row)[0] == 200


def test_a_server_that_listens_says_so_and_its_page_gets_the_models_name(
  monkeypatch,
):
  ports, servers = queue.Queue(), []

  class Server(uvicorn.Server):
    def __init__(self, *args):
      super().__init__(*args)
      servers.append(self)

  monkeypatch.setattr(uvicorn, "Server", Server)
  # See running_app.
  config = functools.partial(uvicorn.Config, log_config=None)
  monkeypatch.setattr(local_server.uvicorn, "Config", config)
  arguments = _app(model_name="a b&c"), ServerOptions(port=0), ports.put
  thread = threading.Thread(target=local_server.serve, args=arguments)
  thread.start()
  connection = http.client.HTTPConnection("127.0.0.1", ports.get(timeout=60))
  try:
    connection.request("GET", "/")
    location = connection.getresponse().getheader("location")
    assert location == "demo.html?model=a+b%26c"
  finally:
    connection.close()
    servers[0].should_exit = True
    thread.join()


def test_windows_cover_the_passage(port):
  _, windows = _request(port, "/windows", _ROW)
  assert len(windows) > 1
  assert windows[-1]["charEnd"] == len(_CONTEXT.rstrip())
  for one, other in itertools.pairwise(windows):
    assert one["charStart"] < other["charStart"] < one["charEnd"]


def test_a_slow_model_ends_with_504():
  served, _ = served_model(SPAN_HEAD)
  options = ServerOptions(request_seconds=0.1)
  app = local_server.model_app(served, lambda _: time.sleep(1), options)
  with running_app(app) as port:
    assert _request(port, "/windows", _ROW)[0] == 504


@pytest.mark.large
@pytest.mark.parametrize(("width", "dark"), [(375, True), (1280, False)])
def test_the_page_answers_an_example(browser, port, width, dark):
  browser.open(f"http://127.0.0.1:{port}/", width, dark=dark)
  browser.wait_for("!document.getElementById('examples').hidden")
  waiting = "document.getElementById('waiting').innerText"
  assert browser.run(waiting) == "The answer appears here."
  browser.run("document.querySelector('#topics button').click()")
  browser.wait_for("!document.getElementById('result').hidden")
  answer = browser.run("document.getElementById('decision').innerText")
  assert browser.run("document.querySelector('mark').textContent") == answer
  browser.run("document.querySelectorAll('#window-list button')[1].click()")
  assert browser.run("document.querySelector('mark.window') !== null")
  assert browser.run("document.documentElement.scrollWidth") == width
