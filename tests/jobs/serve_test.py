"""The job of serve: which app it serves, and where."""

import contextlib
import http.client
import json
import pathlib
import signal
import socket
import urllib.request

import pytest

pytest.importorskip("uvicorn", reason="pip install -e '.[serve]'")

from bert_span.jobs.serve import serve
from bert_span.serve import ServeOptions
from bert_span.serving import local_server
from bert_span.tflite.file import read_packed_config
from tests.support.models import (
  CONTEXT,
  QUESTION,
  exported_tflite,
  shared_extractor,
  shared_model,
  with_files_of,
)
from tests.support.programs import start_program
from tests.support.servers import running_app


@pytest.fixture
def served(monkeypatch):
  """A function of options that runs the job's app; gives its address."""
  loads = []
  monkeypatch.setattr(
    local_server, "serve", lambda load, *unused: loads.append(load)
  )

  @contextlib.contextmanager
  def run(**options):
    serve(ServeOptions(**options))
    with running_app(loads.pop()()) as port:
      yield f"http://127.0.0.1:{port}"

  return run


def _read(address, body=None):
  data = body and json.dumps(body).encode()
  with urllib.request.urlopen(address, data) as response:
    return response.read()


@pytest.mark.large
def test_a_model_answers_under_its_name(served):
  row = {"question": QUESTION, "context": CONTEXT}
  with served(model=shared_model(), model_name="qa") as address:
    path = f"{address}/v1/models/qa:predict"
    (answer,) = json.loads(_read(path, {"instances": [row]}))["predictions"]
  expected = shared_extractor().answer(QUESTION, CONTEXT)
  assert (answer["answer"], answer["char_start"]) == (
    expected.text,
    expected.char_start,
  )


@pytest.fixture
def packages(tmp_path):
  """A folder as npm makes it of LiteRT.js."""
  for name in ("core", "wasm-utils"):
    (tmp_path / "litert" / name).mkdir(parents=True)
  (tmp_path / "litert/core/run.js").write_text("// runs it")
  return tmp_path / "litert"


@pytest.mark.large
def test_a_file_is_sent_with_the_page_and_the_runtime(served, packages):
  path, _ = exported_tflite()
  with served(web=True, tflite=path, litert=packages) as address:
    assert _read(f"{address}/model.tflite") == pathlib.Path(path).read_bytes()
    assert _read(f"{address}/litertjs/core/run.js") == b"// runs it"
    assert b"<title>" in _read(f"{address}/")


def test_what_the_browser_cannot_run_is_refused(served, packages, tmp_path):
  path, _ = exported_tflite()
  dynamic = tmp_path / "dynamic.tflite"
  about = read_packed_config(path)["tflite"] | {"dynamic_length": True}
  dynamic.write_bytes(with_files_of(path, tflite=about))
  with pytest.raises(ValueError, match=f"{dynamic}.*dynamic_length"):
    served(web=True, tflite=dynamic, litert=packages).__enter__()
  for name in ("core", "wasm-utils"):
    moved = (packages / name).rename(packages / "other")
    with pytest.raises(ValueError, match=f"litert={packages} .*{name}"):
      served(web=True, tflite=path, litert=packages).__enter__()
    moved.rename(packages / name)


@pytest.mark.parametrize(
  ("host", "address"),
  [("127.0.0.1", "http://127.0.0.1:99/"), ("::1", "http://[::1]:99/")],
)
def test_the_address_is_shown_as_it_is_typed(
  monkeypatch, capsys, host, address
):
  monkeypatch.setattr(
    local_server, "serve", lambda load, options, on_start: on_start(99)
  )
  serve(ServeOptions(model="m", host=host))
  assert address in capsys.readouterr().err


@pytest.mark.large
def test_the_program_says_where_it_listens_and_its_page_gets_the_models_name():
  with socket.create_server(("127.0.0.1", 0)) as free:
    port = free.getsockname()[1]
  flags = f"--model={shared_model()}", "--model_name=a b&c", f"--port={port}"
  program = start_program("bert_span.serve", *flags)
  locations = []

  def ask():
    connection = http.client.HTTPConnection("127.0.0.1", port)
    with contextlib.suppress(ConnectionError), contextlib.closing(connection):
      connection.request("GET", "/")
      response = connection.getresponse()
      if response.status != 503:  # loading
        locations.append(response.getheader("location"))
    return locations

  program.send_signal_when(ask, signal.SIGINT)
  done = program.finish()
  assert done.returncode == 0
  assert f"http://127.0.0.1:{port}/" in done.stderr
  assert locations == ["demo.html?model=a+b%26c"]
