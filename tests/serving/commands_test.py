"""The commands that an export prints."""

import json
import shlex
import shutil
import subprocess

import pytest

from bert_span.client.predict_api import DEFAULT_MODEL
from bert_span.serving.commands import SERVER_IMAGE, serving_commands
from tests.support.servers import ModelServer, running


def test_the_folder_is_mounted_under_the_name_that_is_asked(tmp_path):
  base = tmp_path / "it's" / "a model"
  base.mkdir(parents=True)
  (tmp_path / "link").symlink_to(base)
  docker, curl = serving_commands(tmp_path / "link")
  words = shlex.split(docker)
  assert words[-1] == SERVER_IMAGE
  assert words[words.index("-v") + 1] == f"{base}:/models/a model:ro"
  assert "MODEL_NAME=a model" in words
  assert "/v1/models/a%20model:predict" in curl


@pytest.mark.skipif(not shutil.which("curl"), reason="needs curl")
def test_curl_is_answered(tmp_path):
  _, curl = serving_commands(tmp_path / DEFAULT_MODEL)
  with running(ModelServer()) as server:
    command = curl.replace("http://localhost:8501", server.address)
    run = subprocess.run(
      ["bash", "-c", f"{command} --silent"], capture_output=True, check=True
    )
  (prediction,) = json.loads(run.stdout)["predictions"]
  assert prediction["answer"] == "The"  # The server's answer is a first word.
