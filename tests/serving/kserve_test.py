"""The exported model behind a server that others wrote: KServe.

Client and demo page ask it over its own HTTP server. KServe is sought in this
environment, or in that of the interpreter that BERT_SPAN_KSERVE_PYTHON names,
which needs kserve, tensorflow and tensorflow-text, and not bert_span.
"""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest
from exported_model import exported_model
from tiny_extractor import CONTEXT, QUESTION

from bert_span.heads.bio import BIO_HEAD
from bert_span.heads.span import SPAN_HEAD
from bert_span.serving.client.retries import RequestRefusedError, RetryOptions
from bert_span.serving.client.span_client import SpanClient

pytestmark = pytest.mark.large
_PYTHON = os.environ.get("BERT_SPAN_KSERVE_PYTHON", sys.executable)
_SECONDS_TO_START = 600
_QUESTIONS = [
  (QUESTION, CONTEXT),
  ("When?", CONTEXT * 8),  # several windows
  ("Who built the café?", "🙂 The mill 日 was built by Anna. " * 3),
  ("Who?", "unknown words only"),
  ("Who?", " "),
  ("Where is the river?", "Near the mill, by the river, 日 🙂."),
]


@pytest.fixture(scope="module", autouse=True)
def _kserve():
  find = "import importlib.util as u; u.find_spec('kserve').name"
  if subprocess.run([_PYTHON, "-c", find], capture_output=True).returncode:
    pytest.skip("needs kserve, here or in BERT_SPAN_KSERVE_PYTHON")


@pytest.fixture(
  scope="module", params=[SPAN_HEAD, BIO_HEAD], ids=["span", "bio"]
)
def served(request, repository, tmp_path_factory):
  """Address of KServe with the SavedModel of a head, and the extractor."""
  directory, extractor = exported_model(request.param)
  folder = tmp_path_factory.mktemp("kserve")
  with socket.create_server(("127.0.0.1", 0)) as free:
    port = free.getsockname()[1]
  log_path = folder / "log.txt"
  with log_path.open("w") as log:
    process = subprocess.Popen(
      [
        *(_PYTHON, repository / "export/serving/kserve_server.py"),
        *(f"--saved_model={directory}", "--model_name=bert_span"),
        *(f"--http_port={port}", "--enable_grpc=false", "--allow_origin=*"),
      ],
      stdout=log,
      stderr=subprocess.STDOUT,
      cwd=folder,
    )
  try:
    _wait_until_ready(port, process, log_path)
    yield f"http://127.0.0.1:{port}", extractor
  finally:
    process.terminate()
    process.wait(60)


def _wait_until_ready(port, process, log_path):
  end = time.monotonic() + _SECONDS_TO_START
  url = f"http://127.0.0.1:{port}/v1/models/bert_span"
  while True:
    try:
      urllib.request.urlopen(url, timeout=5).close()
      return
    except OSError:
      assert process.poll() is None, log_path.read_text()[-3000:]
      assert time.monotonic() < end, log_path.read_text()[-3000:]
      time.sleep(0.5)


def _client(address, **arguments):
  options = RetryOptions(timeout=120.0, deadline=240.0)
  return SpanClient(address, retry_options=options, **arguments)


def test_the_client_gets_the_extractors_answers(served):
  address, extractor = served
  questions, contexts = map(list, zip(*_QUESTIONS, strict=True))
  with _client(address, batch_size=4) as client:
    given = client.answers(questions, contexts)
    answer = client.answer(QUESTION, CONTEXT)
  expected = extractor.answers(questions, contexts)
  counts = list(map(len, expected))
  assert min(counts) == 0
  assert max(counts) > (2 if extractor.head is BIO_HEAD else 0)
  for spans, others, context in zip(given, expected, contexts, strict=True):
    for span, other in zip(spans, others, strict=True):
      assert (span.text, span.char_start, span.char_end) == other[:3]
      assert span.score == pytest.approx(other.score, abs=1e-4)
      assert span.probability == pytest.approx(other.probability, abs=1e-4)
      in_bytes = context.encode()[span.byte_start : span.byte_end]
      assert in_bytes.decode() == span.text
  if extractor.head is SPAN_HEAD:
    n_best = extractor.answer(QUESTION, CONTEXT, n_best=5)
    assert [e.text for e in answer.n_best[:5]] == [e.text for e in n_best]


def test_a_model_that_is_not_there_is_named(served):
  with pytest.raises(RequestRefusedError, match=r"model 'other'.*HTTP 404"):
    _client(served[0], model="other").answer(QUESTION, CONTEXT)


def test_a_lone_surrogate_is_no_error_of_the_server(served):
  body = rb'{"instances": [{"question": "Who \ud83d?", "context": "Anna"}]}'
  request = urllib.request.Request(
    f"{served[0]}/v1/models/bert_span:predict",
    body,
    {"Content-Type": "application/json"},
  )
  try:
    with urllib.request.urlopen(request, timeout=120) as response:
      assert response.status == 200
  except urllib.error.HTTPError as error:
    assert error.code == 400


@pytest.mark.parametrize("served", [SPAN_HEAD], indirect=True)
def test_the_demo_page_marks_the_extractors_answer(browser, served, repository):
  address, extractor = served
  answers = extractor.answers(*map(list, zip(*_QUESTIONS, strict=True)))
  (question, context), span = next(
    (pair, spans[0])
    for pair, spans in zip(_QUESTIONS, answers, strict=True)
    if spans and spans[0].char_start > pair[1].find("🙂") >= 0
  )
  page = (repository / "bert_span/web/demo.html").as_uri()
  browser.open(f"{page}?server={address}&timeout=120")
  for field, text in (("question", question), ("context", context)):
    browser.run(f"document.getElementById('{field}').focus()")
    browser.type(text)
  browser.press("Enter", modifiers=2)
  browser.wait_for("!document.getElementById('result').hidden")
  mark = "document.querySelector('mark')"
  assert browser.run(f"{mark}.textContent") == span.text
  before = browser.run(f"{mark}.previousSibling.textContent")
  assert before == context[: span.char_start]
