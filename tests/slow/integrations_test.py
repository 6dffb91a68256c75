"""The recipes of docs/integrations.md, run as they stand there."""

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import numpy as np
import pytest

from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.presets.span_config import find_embedded_model


@pytest.fixture
def recipe(repository, tmp_path, monkeypatch):
  """A function that runs the blocks of a library, and returns their names."""
  monkeypatch.chdir(tmp_path)
  # They would send figures to their makers.
  monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")
  monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
  # As in an activated environment: mlflow calls uvicorn.
  path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
  monkeypatch.setenv("PATH", path)
  text = (repository / "docs/integrations.md").read_text(encoding="utf-8")

  def run(library, **names):
    names["__name__"] = "__main__"
    blocks = re.findall(rf"```python\n# {library}\n(.*?)```", text, re.S)
    assert blocks
    for block in blocks:
      exec(block, names)
    return names

  return run


def test_haystack(recipe):
  pytest.importorskip("haystack")
  names = recipe("haystack")
  run = names["reader"].run
  answers = run(query="Who built the mill?", documents=names["documents"])
  first, *_, none = answers["answers"]
  assert (first.data, first.document) == ("Anna", names["documents"][0])
  text = first.document.content
  offset = first.document_offset
  assert text[offset.start : offset.end] == "Anna"
  assert first.meta == {"answer_page_number": 4}
  assert none.data is None
  assert 0 < none.score < first.score <= 1
  # In a pipeline, with an empty document and a page further on.
  from haystack import Document, Pipeline

  document = Document(content=f"Page one.\f{text}", meta={"page_number": 4})
  pipeline = Pipeline()
  pipeline.add_component("reader", names["SpanExtractorReader"](top_k=1))
  data = {"query": "Who built the mill?"}
  data["documents"] = [Document(content=""), document]
  (best, _) = pipeline.run({"reader": data})["reader"]["answers"]
  assert (best.data, best.meta) == ("Anna", {"answer_page_number": 5})


def test_mlflow(recipe, tmp_path):
  pytest.importorskip("mlflow")
  recipe("mlflow", DIR=find_embedded_model("minilm_squad"))
  with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
  command = [
    *(sys.executable, "-m", "mlflow", "models", "serve", "-m", "mlflow_model"),
    *("--env-manager", "local", "--host", "127.0.0.1", "--port", str(port)),
  ]
  row = {"question": "Who came?", "context": "John Smith came."}
  request = urllib.request.Request(
    f"http://127.0.0.1:{port}/invocations",
    json.dumps({"dataframe_records": [row]}).encode(),
    {"Content-Type": "application/json"},
  )
  server = subprocess.Popen(command, start_new_session=True)
  try:
    for _ in range(300):
      try:
        with urllib.request.urlopen(request, timeout=60) as response:
          reply = json.load(response)
        break
      except (urllib.error.URLError, ConnectionError):
        assert server.poll() is None
        time.sleep(1)
  finally:
    server.terminate()
    server.wait()
  (answer,) = reply["predictions"]
  assert (answer["text"], answer["char_start"]) == ("John Smith", 0)


def test_fastapi(recipe):
  pytest.importorskip("fastapi")
  client = pytest.importorskip("fastapi.testclient")
  app = recipe("fastapi")["app"]
  values = {"question": "Who came?", "context": "John Smith came."}
  reply = client.TestClient(app).post("/answer", json=values)
  assert reply.json()["text"] == "John Smith"


def test_onnx(recipe):
  for module in ("tf2onnx", "onnxruntime"):
    pytest.importorskip(module)
  names = recipe("onnx")
  expected = names["extractor"](names["windows"])
  assert set(names["logits"]) == set(SpanExtractor.logits)
  for name, values in names["logits"].items():
    np.testing.assert_allclose(values, expected[name], atol=1e-5)
