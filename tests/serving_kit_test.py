"""The files of export/serving and the commands of its page in docs/."""

import base64
import importlib.metadata
import inspect
import json
import re

import pytest
import yaml
from google.protobuf import (
  descriptor_pb2,
  descriptor_pool,
  json_format,
  text_format,
)
from packaging.version import Version

from bert_span.client.predict_api import DEFAULT_MODEL
from bert_span.client.span_client import SpanClient
from bert_span.serving.commands import SERVER_IMAGE

_API = "needs the package tensorflow-serving-api (pip install .[serving])"


@pytest.fixture(scope="module")
def kit(repository):
  """The texts of the files by name."""
  paths = (repository / "export" / "serving").glob("*.*")
  return {path.name: path.read_text("utf-8") for path in paths}


def test_the_server_takes_the_clients_batches(kit):
  text = kit["batching_parameters.txt"]
  (largest,) = re.findall(r"^max_batch_size \{ value: (\d+) \}", text, re.M)
  default = inspect.signature(SpanClient).parameters["batch_size"].default
  assert int(largest) >= default


def test_compose_mounts_every_file_that_it_names(kit):
  compose = kit["compose.yaml"]
  mounted = dict(re.findall(r"- \./(\S+?):(/\S+?):ro", compose))
  assert mounted.keys() <= kit.keys()
  for path in re.findall(r"_file=(/\S+)", compose):
    assert path in mounted.values()
  # Open to this machine only.
  for port in re.findall(r'- "(\S+:\d+)"', compose):
    assert port.startswith("127.0.0.1:")


def test_compose_starts_the_servers_of_the_page_and_lets_no_other_site_ask(
  repository, kit
):
  services = yaml.safe_load(kit["compose.yaml"])["services"]
  images = {
    # As Docker Compose reads ${NAME:-default}.
    name: re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", str(service))
    for name, service in services.items()
  }
  assert f"'image': '{SERVER_IMAGE}'" in images["serving"]
  assert re.search(r"'prom/prometheus:v\d+\.\d+\.\d+'", images["prometheus"])
  assert "--rest_api_enable_cors_support=false" in images["serving"]
  pages = _pages(repository)
  assert {*re.findall(r"tensorflow/serving[:\w.]*", pages)} == {SERVER_IMAGE}
  version = SERVER_IMAGE.partition(":")[2]
  assert f"Take TensorFlow Serving {version}." in pages


def test_the_pages_write_and_ask_one_model_in_a_folder_of_the_reader(
  repository,
):
  pages = _pages(repository)
  outputs = re.findall(r"^export_saved_model\.py .*--output=(\S+)", pages, re.M)
  outputs += re.findall(r'\.export\("([^".]+)"\)', pages)
  assert len(outputs) >= 5
  for output in outputs:
    assert output.endswith(f"/{DEFAULT_MODEL}")
    assert output.startswith(("models/", "/tmp/"))
  named = re.findall(r"(?:MODEL_NAME=|--model_name=|/v1/models/)(\w+)", pages)
  assert {*named} == {DEFAULT_MODEL}


def _pages(repository):
  """README and the pages, each command on one line."""
  paths = repository / "README.md", *sorted((repository / "docs").glob("*.md"))
  texts = [path.read_text("utf-8") for path in paths if path.stem != "flags"]
  return "\n".join(texts).replace("\\\n", " ")


def test_models_config_labels_versions_that_it_serves(kit):
  messages = pytest.importorskip(
    "tensorflow_serving.config.model_server_config_pb2", reason=_API
  )
  config = messages.ModelServerConfig()
  text_format.Parse(kit["models.config"], config)
  (model,) = config.model_config_list.config
  assert model.name == DEFAULT_MODEL
  assert model.base_path == f"/models/{DEFAULT_MODEL}"
  versions = model.model_version_policy.specific.versions
  # As the first export writes it.
  assert list(versions) == [1]
  assert dict(model.version_labels) == {"stable": 1}


def test_commands_of_the_pages_ask_with_names_that_exist(
  repository, tmp_path, monkeypatch
):
  pages = "docs/saved_model_and_serving.md", "export/serving/README.md"
  page = "".join((repository / name).read_text("utf-8") for name in pages)
  for line in re.findall(r"^from bert_span\S* import .+$", page, re.M):
    exec(line, {})
  for body in re.findall(r"-d '\s*({.*?})'", page, re.DOTALL):
    (row,) = json.loads(body)["instances"]
    assert set(row) == {"question", "context"}
  # grpcurl's message is a PredictRequest.
  predict_pb2 = pytest.importorskip(
    "tensorflow_serving.apis.predict_pb2", reason=_API
  )
  program, message = re.findall(r"<<'?EOF'?\n(.*?)\nEOF", page, re.DOTALL)
  message = re.sub(
    r'\$\(b64 "(.*?)"\)',
    lambda match: base64.b64encode(match.group(1).encode()).decode(),
    message,
  )
  request = json_format.Parse(message, predict_pb2.PredictRequest())
  assert not request.model_spec.version_label
  assert request.inputs["question"].string_val == [b"Who made the clock?"]
  # The description of the messages, as grpcurl reads it.
  version = Version(importlib.metadata.version("tensorflow-serving-api"))
  if version < Version("2.21"):
    pytest.skip("protobuf 6 cannot load this tensorflow-serving-api's services")
  monkeypatch.chdir(tmp_path)
  exec(program, {})
  files = descriptor_pb2.FileDescriptorSet.FromString(
    (tmp_path / "serving.protoset").read_bytes()
  )
  pool = descriptor_pool.DescriptorPool()
  for file in files.file:
    pool.Add(file)
  service = pool.FindServiceByName("tensorflow.serving.PredictionService")
  assert "Predict" in service.methods_by_name
