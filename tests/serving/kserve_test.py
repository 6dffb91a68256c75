"""The exported model behind a server that others wrote: KServe.

Client and demo page ask it over its own HTTP server. KServe is sought in this
environment, or in that of the interpreter that BERT_SPAN_KSERVE_PYTHON names,
which needs kserve, tensorflow and tensorflow-text, and not bert_span.
"""

import contextlib
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


@pytest.fixture(scope="module")
def extractor():
  return exported_model(SPAN_HEAD)[1]


@pytest.fixture(scope="module")
def address(repository, tmp_path_factory):
  """Address of KServe with the extractor's SavedModel."""
  folder = tmp_path_factory.mktemp("kserve")
  with _serving(SPAN_HEAD, repository, folder) as url:
    yield url


@contextlib.contextmanager
def _serving(head, repository, folder):
  """Runs KServe with the exported model of a head, and yields its address."""
  directory, _ = exported_model(head)
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
    yield f"http://127.0.0.1:{port}"
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


def test_the_client_gets_the_extractors_answers(address, extractor):
  questions, contexts = map(list, zip(*_QUESTIONS, strict=True))
  with _client(address, batch_size=4) as client:
    served = client.answer(questions, contexts)
  expected = extractor.answer(questions, contexts)
  for answer, other, context in zip(served, expected, contexts, strict=True):
    assert answer.text == other.text
    assert (answer.char_start, answer.char_end) == other[1:3]
    assert answer.score == pytest.approx(other.score, abs=1e-4)
    assert answer.probability == pytest.approx(other.probability, abs=1e-4)
    in_bytes = context.encode()[answer.byte_start : answer.byte_end]
    assert in_bytes.decode() == answer.text
  assert {answer.is_answerable for answer in served} == {True, False}
  n_best = extractor.answer(QUESTION, CONTEXT, n_best=5)
  texts = [span.text for span in served[0].n_best[:5]]
  assert texts == [entry.text for entry in n_best]


def test_the_client_gets_the_spans_of_a_bio_model(repository, tmp_path):
  _, extractor = exported_model(BIO_HEAD)
  questions, contexts = map(list, zip(*_QUESTIONS, strict=True))
  expected = extractor.answers(questions, contexts)
  counts = [len(spans) for spans in expected]
  assert min(counts) == 0
  assert max(counts) > 2
  with (
    _serving(BIO_HEAD, repository, tmp_path) as url,
    _client(url, batch_size=4) as client,
  ):
    served = client.answers(questions, contexts)
  assert [len(spans) for spans in served] == counts
  for spans, others in zip(served, expected, strict=True):
    for span, other in zip(spans, others, strict=True):
      assert (span.text, span.char_start, span.char_end) == other[:3]
      assert span.score == pytest.approx(other.score, abs=1e-4)
      assert span.probability == pytest.approx(other.probability, abs=1e-4)


def test_a_model_that_is_not_there_is_named(address):
  with pytest.raises(RequestRefusedError, match=r"model 'other'.*HTTP 404"):
    _client(address, model="other").answer(QUESTION, CONTEXT)


def test_a_lone_surrogate_is_no_error_of_the_server(address):
  body = rb'{"instances": [{"question": "Who \ud83d?", "context": "Anna"}]}'
  request = urllib.request.Request(
    f"{address}/v1/models/bert_span:predict",
    body,
    {"Content-Type": "application/json"},
  )
  try:
    with urllib.request.urlopen(request, timeout=120) as response:
      assert response.status == 200
  except urllib.error.HTTPError as error:
    assert error.code == 400


def test_the_demo_page_marks_the_extractors_answer(
  browser, address, extractor, repository
):
  answers = extractor.answer(*map(list, zip(*_QUESTIONS, strict=True)))
  (question, context), answer = next(
    (pair, answer)
    for pair, answer in zip(_QUESTIONS, answers, strict=True)
    if answer.char_start > pair[1].find("🙂") >= 0
  )
  page = (repository / "bert_span/web/demo.html").as_uri()
  browser.open(f"{page}?server={address}&timeout=120")
  browser.run("document.getElementById('question').focus()")
  browser.type(question)
  browser.run("document.getElementById('context').focus()")
  browser.type(context)
  browser.press("Enter", modifiers=2)
  browser.wait_for("!document.getElementById('result').hidden")
  marked = browser.run("document.querySelector('mark').textContent")
  before = browser.run(
    "document.querySelector('mark').previousSibling.textContent"
  )
  assert marked == answer.text
  assert before == context[: answer.char_start]
