"""The local server: TensorFlow Serving's REST, its limits, and its page."""

import asyncio
import contextlib
import gzip
import http.client
import itertools
import json
import re
import socket
import threading
import time

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from bert_span.answers.decoding.options import StepOptions
from bert_span.client import RequestRefusedError, RetryOptions, SpanClient
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.serving import local_server
from bert_span.serving.options import ServerOptions
from bert_span.serving.signatures import ServedModel
from tests.support.models import QUESTION, served_model
from tests.support.servers import running_app

_CONTEXT = "😀 The mill was built by Anna in 1895, near the river. " * 3
_ROW = {"question": QUESTION, "context": _CONTEXT}
_PREDICT = "/v1/models/bert_span:predict"


def _app(**options):
  served, extractor = served_model(SpanExtractor)
  options, steps = ServerOptions(**options), local_server.StoppableSteps()
  return local_server.model_app(served, extractor.preprocessor, options, steps)


@pytest.fixture(scope="module")
def port():
  with running_app(_app(max_request_bytes=5000)) as number:
    yield number


def _request(port, path, body=None, method=None, **headers):
  """The status and the JSON of a reply; `body` is bytes, chunks or a dict."""
  if isinstance(body, dict):
    body = json.dumps(body).encode()
  address = ("127.0.0.1", port)
  with contextlib.closing(http.client.HTTPConnection(*address)) as connection:
    method = method or ("GET" if body is None else "POST")
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    return response.status, json.loads(response.read())


@pytest.mark.large
def test_the_client_gets_the_answers_of_the_extractor(port):
  # The first question takes long on a busy machine: the graph is made.
  options = RetryOptions(timeout=300.0, deadline=300.0)
  with SpanClient(f"http://127.0.0.1:{port}", retry_options=options) as client:
    answer = client.answer(QUESTION, _CONTEXT)
  expected = served_model(SpanExtractor)[1].answer(QUESTION, _CONTEXT)
  for name in ("text", "char_start", "char_end"):
    assert getattr(answer, name) == getattr(expected, name)
  assert answer.probability == pytest.approx(expected.probability, abs=1e-5)
  for name, value in (("version", 1), ("label", "stable")):
    with (
      SpanClient(f"http://127.0.0.1:{port}", **{name: value}) as client,
      pytest.raises(RequestRefusedError, match=name),
    ):
      client.answer(QUESTION, _CONTEXT)


def _logits(value):
  """A request for the logits of a window of one WordPiece."""
  row = {"input_ids": [value], "input_mask": [1], "segment_ids": [0]}
  return {"signature_name": "logits", "instances": [row]}


def _columns(values):
  """The inputs of `logits`, all of them the same."""
  return dict.fromkeys(("input_ids", "input_mask", "segment_ids"), values)


def test_columns_have_the_outputs_of_rows(port):
  _, rows = _request(port, _PREDICT, {"instances": [_ROW]})
  columns = {name: [text] for name, text in _ROW.items()}
  _, reply = _request(port, _PREDICT, {"inputs": columns})
  first = {name: values[0] for name, values in reply["outputs"].items()}
  assert [first] == rows["predictions"]
  status, reply = _request(port, _PREDICT, _logits(3))
  assert status == 200
  assert set(reply["predictions"][0]) == {"start_logits", "end_logits"}


def test_status_is_available(port):
  _, reply = _request(port, "/v1/models/bert_span")
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
    *((_PREDICT, _logits(value), 400) for value in (1.5, True, 2**31, [])),
    (_PREDICT, {"signature_name": "logits", "inputs": _columns([1])}, 400),
    (_PREDICT, {"signature_name": "logits", "inputs": _columns([[]])}, 400),
    (_PREDICT, {"instances": [_ROW | {"question": {"b64": "YQ=="}}]}, 400),
    (_PREDICT, b" " * 5001, 413),
    ("/v1/models/other:predict", {}, 404),
    ("/windows", {"question": "?"}, 400),
  ],
)
def test_a_wrong_request_gets_one_error(port, path, body, status):
  received, reply = _request(port, path, body)
  assert received == status
  assert reply["error"] and "\n" not in reply["error"]
  assert ".py" not in reply["error"]


@pytest.mark.parametrize(
  ("method", "path", "status"),
  [
    *((method, _PREDICT, 400) for method in ("GET", "PUT", "OPTIONS")),
    ("POST", f"{_PREDICT}/", 400),
    ("POST", "/v1/models/bert_span:classify", 400),
    ("POST", "/v1/models/bert_span/versions/1:predict", 400),
    ("POST", "/v1/models/bert_span/labels/stable:predict", 400),
    ("GET", "/v1/models/bert_span/metadata", 400),
    ("POST", "/v1/models/bert_span", 400),
    ("GET", "/v1/models", 400),
    ("GET", "/v1/models/bert_span/", 400),
    ("GET", "/v1/models/bert_span/versions/x", 400),
    ("GET", "/v1/%0A", 400),
    ("GET", "/nothing", 404),
    ("DELETE", "/demo.html", 405),
  ],
)
def test_a_path_or_method_that_is_none_is_named(port, method, path, status):
  expected = {"error": f"Malformed request: {method} {path}"}
  assert _request(port, path, method=method) == (status, expected)


def test_an_empty_signature_name_is_the_default(port):
  named = {"signature_name": "", "instances": [_ROW]}
  default = _request(port, _PREDICT, {"instances": [_ROW]})
  assert default[0] == 200
  assert _request(port, _PREDICT, named) == default


def test_compressed_and_chunked_bodies_are_read(port):
  body = json.dumps({"instances": [_ROW]}).encode()
  expected = _request(port, _PREDICT, body)
  packed, headers = gzip.compress(body), {"Content-Encoding": "gzip"}
  assert _request(port, _PREDICT, packed, **headers) == expected
  # http.client sends a list in chunks.
  assert _request(port, _PREDICT, [body[:9], body[9:]]) == expected


@pytest.mark.parametrize(
  ("encoding", "body", "status"),
  [
    ("gzip", gzip.compress(b" " * 5001, mtime=0), 413),
    ("gzip", gzip.compress(b"{}", mtime=0)[:-1], 400),
    ("gzip", b"{}", 400),
    *((encoding, b"{}", 415) for encoding in ("br", "deflate", "gzip, gzip")),
  ],
)
def test_a_body_that_cannot_be_unpacked_is_refused(
  port, encoding, body, status
):
  headers = {"Content-Encoding": encoding}
  received, reply = _request(port, _PREDICT, body, **headers)
  assert (received, "\n" in reply["error"]) == (status, False)


@pytest.mark.parametrize(
  ("ids", "segment", "named"),
  [
    ([10**6], 0, r"= 1000000 is not in \[0, "),
    ([-1], 0, r"= -1 is not in \[0, "),
    ([3], 7, r"= 7 is not in \[0, 2\)"),
    ([3] * 100, 0, "shapes: .*100"),  # positions
  ],
)
def test_ids_that_the_model_lacks_are_named(port, ids, segment, named):
  row = {"input_ids": ids, "input_mask": [1] * len(ids)}
  row["segment_ids"] = [segment] * len(ids)
  body = {"signature_name": "logits", "instances": [row]}
  status, reply = _request(port, _PREDICT, body)
  assert status == 400
  assert re.search(named, reply["error"]) and "\n" not in reply["error"]


def test_inputs_of_too_many_numbers_are_refused():
  body = {"signature_name": "logits", "inputs": _columns([[1] * 40_000])}
  with running_app(_app()) as port:
    status, reply = _request(port, _PREDICT, body)
  assert status == 400 and "40,000" in reply["error"]


def test_pages_of_other_sites_are_refused():
  app = local_server.guarded(_app(), "127.0.0.1")
  with running_app(app) as port:
    here = f"127.0.0.1:{port}"
    for headers, expected in (
      ({}, 200),
      ({"Origin": f"http://{here}"}, 200),
      ({"Host": f"localhost:{port}"}, 200),
      ({"Host": f"[::1]:{port}", "Origin": f"http://[::1]:{port}"}, 200),
      ({"Origin": "http://example.org"}, 403),
      ({"Origin": "null"}, 403),
      ({"Host": f"example.org:{port}"}, 400),
      ({"Host": f"example.org:{port}", "Origin": "http://example.org"}, 400),
      ({"Host": f"localhost.example.org:{port}"}, 400),
      ({"Origin": "http://["}, 403),  # malformed
      ({"Host": "[::1"}, 400),
      ({"Host": ""}, 400),
    ):
      connection = http.client.HTTPConnection("127.0.0.1", port)
      with contextlib.closing(connection):
        connection.request("GET", "/healthz", headers=headers)
        response = connection.getresponse()
        assert response.status == expected, headers
        assert (b"ok" in response.read()) == (expected == 200)


def test_a_server_of_every_network_has_any_name():
  """Its own pages may ask, and no others."""
  with running_app(local_server.guarded(_app(), "0.0.0.0")) as port:
    for host, origin, expected in (
      *(("pc.example:80", "http://pc.example:80", 200), ("[", "null", 403)),
      ("pc.example:80", "http://example.org", 403),
    ):
      headers = {"Host": host, "Origin": origin}
      status, _ = _request(port, "/healthz", **headers)
      assert status == expected


def test_silent_connections_are_closed(monkeypatch):
  monkeypatch.setattr(local_server.PromptProtocol, "head_seconds", 0.2)
  options = {"http": local_server.PromptProtocol, "limit_concurrency": 3}
  with contextlib.ExitStack() as stack:
    port = stack.enter_context(running_app(_app(), **options))
    address = ("127.0.0.1", port)
    silent = [
      stack.enter_context(socket.create_connection(address)) for _ in range(4)
    ]
    silent[0].sendall(b"GET / HTTP/1.1\r\n")
    assert [each.recv(1) for each in silent] == [b""] * 4
    assert _request(port, "/healthz") == (200, {"status": "ok"})


def test_a_lone_surrogate_is_a_character(port):
  row = b'{"instances": [{"question": "\\ud83d", "context": "a\\ud83d"}]}'
  assert _request(port, _PREDICT, row)[0] == 200


def test_windows_cover_the_passage(port):
  _, windows = _request(port, "/windows", _ROW)
  assert len(windows) > 1
  assert windows[-1]["charEnd"] == len(_CONTEXT.rstrip())
  for one, other in itertools.pairwise(windows):
    assert one["charStart"] < other["charStart"] < one["charEnd"]


class _SlowSteps(local_server.StoppableSteps):
  def __init__(self):
    super().__init__()
    self.ended = threading.Event()

  def __call__(self, done, total):
    time.sleep(0.1)
    try:
      super().__call__(done, total)
    except TimeoutError:
      self.ended.set()
      raise


@pytest.mark.large
def test_an_answer_that_takes_too_long_ends_with_504_and_is_not_finished():
  _, extractor = served_model(SpanExtractor)
  steps, options = _SlowSteps(), ServerOptions(request_seconds=0.5)
  served = ServedModel(extractor, StepOptions(1), steps)
  app = local_server.model_app(served, extractor.preprocessor, options, steps)
  with running_app(app) as port:
    row = {"question": QUESTION, "context": _CONTEXT * 100}
    assert _request(port, _PREDICT, {"instances": [row]})[0] == 504
    # Else it would read hundreds of windows to their end.
    assert steps.ended.wait(60)


@pytest.fixture
def servers(monkeypatch):
  """The uvicorn servers that are made."""
  made = []

  class Server(uvicorn.Server):
    def __init__(self, config):
      super().__init__(config)
      made.append(self)

  monkeypatch.setattr(uvicorn, "Server", Server)
  return made


@pytest.mark.large
def test_a_server_that_is_stopped_answers_what_it_was_asked(servers):
  async def slow(request):
    asked.set()
    await asyncio.sleep(6)
    return JSONResponse("answered")

  ports, replies, asked = [], [], threading.Event()
  app, options = Starlette(routes=[Route("/", slow)]), ServerOptions(port=0)
  serving = threading.Thread(
    target=local_server.serve, args=(lambda: app, options, ports.append)
  )
  serving.start()
  while not ports:
    time.sleep(0.02)
  asking = threading.Thread(
    target=lambda: replies.append(_request(ports[0], "/"))
  )
  asking.start()
  assert asked.wait(60)
  servers[0].should_exit = True  # as SIGTERM
  time.sleep(1)
  with pytest.raises(ConnectionError):
    _request(ports[0], "/")
  asking.join()
  serving.join(10)
  assert replies == [(200, "answered")] and not serving.is_alive()


def test_a_server_says_that_its_model_is_loading_and_then_that_it_is_there(
  servers,
):
  is_loaded, ports = threading.Event(), []

  def load():
    assert is_loaded.wait(60)
    return _app()

  arguments = load, ServerOptions(port=0), ports.append
  serving = threading.Thread(target=local_server.serve, args=arguments)
  serving.start()
  while not servers or not servers[0].started:
    time.sleep(0.02)
  try:
    port = servers[0].servers[0].sockets[0].getsockname()[1]
    loading = 503, {"error": "The model is loading."}
    assert _request(port, "/healthz") == loading
    assert _request(port, _PREDICT, {"instances": [_ROW]}) == loading
    assert not ports
    is_loaded.set()
    while not ports:
      time.sleep(0.02)
    assert ports == [port]
    assert _request(port, "/healthz") == (200, {"status": "ok"})
  finally:
    is_loaded.set()
    servers[0].should_exit = True  # as SIGTERM
    serving.join()


def test_a_server_whose_model_cannot_be_loaded_ends_with_the_reason():
  def load():
    raise ValueError("qa")

  with pytest.raises(ValueError, match="qa"):
    local_server.serve(load, ServerOptions(port=0), print)


def test_no_request_traces_a_graph():
  def num_traces():
    functions = served_model(SpanExtractor)[0].functions.values()
    return [function.experimental_get_tracing_count() for function in functions]

  with running_app(_app()) as port:
    before = num_traces()
    for body in ({"instances": [_ROW] * 3}, _logits(3)):
      assert _request(port, _PREDICT, body)[0] == 200
    assert num_traces() == before
  assert min(before) > 0


def test_a_question_whose_end_is_not_read_is_named(port, capsys):
  long = "Who built the mill " * 5
  body = {"instances": [_ROW, {**_ROW, "question": long}]}
  status, reply = _request(port, _PREDICT, body)
  is_cut = [row["question_truncated"] for row in reply["predictions"]]
  assert (status, is_cut) == (200, [False, True])
  error = capsys.readouterr().err
  assert error.count("max_query_length=8") == 1
  assert "'Who built the mill Who" in error


@pytest.mark.large
def test_the_page_answers_an_example(browser, port):
  browser.open(f"http://127.0.0.1:{port}/", width=375)
  browser.wait_for("!document.getElementById('examples').hidden")
  waiting = "document.getElementById('waiting').innerText"
  assert browser.run(waiting) == "The answer appears here."
  browser.run("document.querySelector('#topics button').click()")
  browser.wait_for("!document.getElementById('result').hidden")
  answer = browser.run("document.getElementById('decision').innerText")
  assert browser.run("document.querySelector('mark').textContent") == answer
  browser.run("document.querySelectorAll('#window-list button')[1].click()")
  assert browser.run("document.querySelector('mark.window') !== null")
  assert browser.run("document.documentElement.scrollWidth") == 375
  # An example that was changed is none.
  pressed = "document.querySelectorAll('.chips [aria-pressed=true]').length"
  assert browser.run(pressed) == 3  # topic, question, window
  browser.run(
    "document.getElementById('context')"
    ".dispatchEvent(new Event('input', {bubbles: true}))"
  )
  marked = "document.querySelectorAll('#examples [aria-pressed=true]').length"
  assert browser.run(marked) == 0
