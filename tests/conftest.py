"""Where the tests find the golden outputs and the real data."""

import gc
import os
import pathlib
import subprocess
import sys

import pytest

# As program.run_program does: both sides of a comparison compute alike.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
# Each worker has a core of its own: threads of one would wait for the other's.
os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
os.environ.setdefault("TF_NUM_INTEROP_THREADS", "1")

# Others load TensorFlow, for which the process that starts the workers waits:
# fixtures import them.
from tests.support.servers import (
  ModelServer,
  find_browser,
  open_browser,
  running,
)

gc.disable()
_ROOT = pathlib.Path(__file__).resolve().parent.parent
_SHARED = _ROOT.parent / "shared"


def pytest_collection_finish():
  """Looks for no garbage among what was imported: it would take minutes."""
  gc.freeze()
  gc.enable()
  gc.set_threshold(50_000)


def _folder_or_skip(name):
  folder = _SHARED / name
  if not folder.is_dir():
    pytest.skip(f"../shared/{name} is not on this machine")
  return folder


@pytest.fixture(scope="session")
def goldens():
  """Folder with outputs of the original run_squad, or a skip."""
  return _folder_or_skip("goldens")


@pytest.fixture(scope="session")
def shared_data():
  """Folder with real SQuAD files, or a skip."""
  return _folder_or_skip("data")


@pytest.fixture(scope="session")
def uncased_vocab_file():
  """The vocabulary of the uncased BERT models, or a skip."""
  from bert_span.presets.packaged_minilm import find_packaged_minilm

  try:
    directory = find_packaged_minilm()
  except ValueError as error:
    pytest.skip(str(error))
  return str(pathlib.Path(directory) / "vocab.txt")


@pytest.fixture(scope="session")
def repository():
  """The root of the checkout."""
  return _ROOT


@pytest.fixture
def small_disk(tmp_path):
  """A folder on a disk of two pages, and a function that makes it larger."""
  folder = tmp_path / "disk"
  folder.mkdir()
  mount = ("mount", "-t", "tmpfs", "none", folder, "-o")
  if subprocess.run([*mount, "size=8k"], capture_output=True).returncode:
    pytest.skip("A disk can be mounted by root only.")
  yield folder, lambda: subprocess.run([*mount, "remount,size=1m"], check=True)
  subprocess.run(["umount", folder], check=True)


@pytest.fixture(scope="module", autouse=True)
def shared_extractors_stay_as_they_are():
  """A test that changes one would fail another, in an order of tests."""
  yield
  if models := sys.modules.get("tests.support.models"):
    models.assert_shared_are_unchanged()


@pytest.fixture(scope="module")
def eager():
  """Runs TensorFlow op by op: sooner than a graph, for few short texts."""
  from tests.support.models import eagerly

  with eagerly():
    yield


@pytest.fixture
def asked_here(monkeypatch):
  """Exported SavedModels are asked in this process, not in a fresh one."""
  from bert_span.serving import verification
  from tests.support.models import ask_here

  monkeypatch.setattr(verification.subprocess, "run", ask_here)


@pytest.fixture
def few_samples(monkeypatch, asked_here):
  """The `few_samples` on which exports are compared, instead of all."""
  from bert_span.serving import export as serving_export
  from bert_span.tflite import export as tflite_export
  from bert_span.tflite import port_vectors
  from tests.support import models

  few = models.few_samples()
  for module in (serving_export, tflite_export, port_vectors):
    monkeypatch.setattr(module, "sample_examples", lambda _: few)
  return few


@pytest.fixture
def server():
  """A `ModelServer` that runs."""
  with running(ModelServer()) as running_server:
    yield running_server


@pytest.fixture
def model_hub(tmp_path, monkeypatch):
  """A `Hub` that the client of Hugging Face's asks; nothing is in its cache."""
  # The client takes half a second.
  from tests.support.hub import running_hub, use_endpoint

  with running_hub() as hub:
    use_endpoint(monkeypatch, hub.endpoint, tmp_path / "cache")
    yield hub


@pytest.fixture(scope="module")
def squad_folder(tmp_path_factory):
  """A vocabulary, a bert_config.json and SQuAD files v1.json and v2.json."""
  from tests.support.squad import write_squad_files

  path = tmp_path_factory.mktemp("run_squad")
  write_squad_files(path)
  return path


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
  """A running Chromium, or a skip."""
  if not find_browser():
    pytest.skip("needs Chromium")
  with open_browser(tmp_path_factory.mktemp("profile")) as running_browser:
    yield running_browser
