"""The exported model behind a server that others wrote: KServe.

The client asks it over its own HTTP server. KServe is sought in this
environment, or in that of the interpreter that BERT_SPAN_KSERVE_PYTHON names,
which needs kserve, tensorflow and tensorflow-text, and not bert_span.
"""

import contextlib
import http.client
import os
import socket
import subprocess
import sys

import pytest

from bert_span.client.retries import RequestRefusedError, RetryOptions
from bert_span.client.span_client import SpanClient
from bert_span.extractors.bio_extractor import BioExtractor
from bert_span.extractors.span_extractor import SpanExtractor
from tests.support.models import CONTEXT, QUESTION, exported_model

_PYTHON = os.environ.get("BERT_SPAN_KSERVE_PYTHON", sys.executable)
_QUESTIONS = [
  (QUESTION, CONTEXT),
  ("When?", CONTEXT * 8),  # several windows
  ("Who built the café?", "🙂 The mill 日 was built by Anna. " * 3),
  ("Who?", "unknown words only"),
  ("Who?", " "),
  ("Where is the river?", "Near the mill, by the river, 日 🙂."),
]


@pytest.fixture(
  scope="module", params=[SpanExtractor, BioExtractor], ids=["span", "bio"]
)
def served(request, repository, tmp_path_factory):
  """Address of KServe with the SavedModel of a head, and the extractor."""
  find = "import importlib.util as u; u.find_spec('kserve').name"
  if subprocess.run([_PYTHON, "-c", find], capture_output=True).returncode:
    pytest.skip("needs kserve, here or in BERT_SPAN_KSERVE_PYTHON")
  directory, extractor = exported_model(request.param)
  with socket.create_server(("127.0.0.1", 0)) as free:
    port = free.getsockname()[1]
  process = subprocess.Popen(
    [
      *(_PYTHON, repository / "export/serving/kserve_server.py"),
      *(f"--saved_model={directory}", "--model_name=bert_span"),
      *(f"--http_port={port}", "--enable_grpc=false", "--allow_origin=*"),
    ],
    cwd=tmp_path_factory.mktemp("kserve"),
  )
  address = f"http://127.0.0.1:{port}"
  try:
    _client(address).answer(QUESTION, CONTEXT)  # waits until it listens
    yield address, extractor
  finally:
    process.terminate()
    process.wait(60)


def _client(address, **arguments):
  options = RetryOptions(120.0, 600.0, max_attempts=6000, longest_wait=1.0)
  return SpanClient(address, retry_options=options, **arguments)


def test_the_client_gets_the_extractors_answers(served):
  address, extractor = served
  questions, contexts = map(list, zip(*_QUESTIONS, strict=True))
  with _client(address, batch_size=4) as client:
    given = client.answers(questions, contexts)
    listed = client.answer(QUESTION, CONTEXT, n_best=5)
  expected = extractor.answers(questions, contexts)
  counts = list(map(len, expected))
  assert min(counts) == 0
  assert max(counts) > (2 if type(extractor) is BioExtractor else 0)
  for spans, others, context in zip(given, expected, contexts, strict=True):
    for span, other in zip(spans, others, strict=True):
      for name in ("text", "char_start", "char_end"):
        assert getattr(span, name) == getattr(other, name)
      assert span.score == pytest.approx(other.score, abs=1e-4)
      assert span.probability == pytest.approx(other.probability, abs=1e-4)
      in_bytes = context.encode()[span.byte_start : span.byte_end]
      assert in_bytes.decode() == span.text
  if type(extractor) is SpanExtractor:
    n_best = extractor.answer(QUESTION, CONTEXT, n_best=5)
    assert [e.text for e in listed] == [e.text for e in n_best]


def test_a_model_that_is_not_there_is_named(served):
  with pytest.raises(RequestRefusedError, match=r"'other'.*404"):
    _client(served[0], model="other").answer(QUESTION, CONTEXT)


def test_a_lone_surrogate_is_no_error_of_the_server(served):
  body = rb'{"instances": [{"question": "Who \ud83d?", "context": "Anna"}]}'
  host = served[0].removeprefix("http://")
  with contextlib.closing(http.client.HTTPConnection(host)) as connection:
    headers = {"Content-Type": "application/json"}
    path = "/v1/models/bert_span:predict"
    connection.request("POST", path, body, headers)
    assert connection.getresponse().status in (200, 400)
