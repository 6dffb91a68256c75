"""The commands that serve an exported model and ask it."""

import json
import os
import shlex
import urllib.parse

SERVER_IMAGE = "tensorflow/serving:2.20.0"
_ROW = {
  "question": "Who built the mill?",
  "context": "The mill was built by Anna in 1895.",
}


def serving_commands(base):
  """Shell commands that start TensorFlow Serving in Docker, and ask it.

  Args:
    base: local folder of all versions; its name is that of the served model.

  Returns:
    Two lines: `docker run ...` and `curl ...`.
  """
  base = os.path.realpath(base)
  name = os.path.basename(base)
  docker = [
    *("docker", "run", "--rm", "-p", "127.0.0.1:8501:8501"),
    *("-v", f"{base}:/models/{name}:ro", "-e", f"MODEL_NAME={name}"),
    *("-e", "TF_ENABLE_ONEDNN_OPTS=1", SERVER_IMAGE),
  ]
  url = f"http://localhost:8501/v1/models/{urllib.parse.quote(name)}:predict"
  curl = ["curl", url, "-d", json.dumps({"instances": [_ROW]})]
  return shlex.join(docker), shlex.join(curl)
