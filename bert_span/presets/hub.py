"""Models by their names on a hub: hf://owner/name, kaggle://..., modelscope://...

A handle becomes a local directory, in the cache of the hub's own client, with
the files that are read of a model and no others. Revisions follow an @:
hf://owner/name@v2, @refs/pr/3, @ and a commit.
"""

import fnmatch
import os
import re

from bert_span.modeling.keras_internals import preset_file
from bert_span.presets import huggingface
from bert_span.presets.encoder_weights import SAVED_MODEL_FILE
from bert_span.presets.vocabulary_files import PIECE_FILES
from bert_span.storage import pickled_weights
from bert_span.storage.files import read_json_object

_HUGGINGFACE = "hf://"
_SCHEMES = (_HUGGINGFACE, "kaggle://", "modelscope://")
_NAME = re.compile(r"[\w.-]+/[\w.-]+")
_CONFIG_FILE = "config.json"
# All files but the weights.
_DESCRIPTIONS = (
  *(_CONFIG_FILE, "metadata.json", "selection.json"),
  *("checksums.json", "task.json", "preprocessor.json", "README.md"),
  *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"),
  *("added_tokens.json", "vocab.txt", "vocab.json", "merges.txt"),
  *(*PIECE_FILES, "assets/*"),
)
_KERAS_WEIGHTS = ("*.weights.h5",)
_SAFETENSORS = (
  *(huggingface.WEIGHTS_FILE, huggingface.INDEX_FILE),
  "model-*-of-*.safetensors",
)
_PICKLED = (*pickled_weights.FILES, "pytorch_model-*-of-*.bin")
# KerasHub fetches these files one by one.
_KERAS_FILES = (
  *("config.json", "metadata.json", "model.weights.h5", "tokenizer.json"),
  *("task.json", "task.weights.h5", "preprocessor.json", "checksums.json"),
  *("selection.json", "assets/tokenizer/vocabulary.txt", "README.md"),
  *("assets/tokenizer/vocabulary.json", "assets/tokenizer/merges.txt"),
  *("assets/tokenizer/vocabulary.spm", "assets/tokenizer/tokenizer.json"),
  "assets/tokenizer/added_tokens.json",
)
_SAVED_MODEL_FILES = (
  *(SAVED_MODEL_FILE, "keras_metadata.pb", "assets/vocab.txt"),
  *("variables/variables.index", "variables/variables.data-00000-of-00001"),
)
_NO_MODEL = (
  f"has neither {_CONFIG_FILE} nor {SAVED_MODEL_FILE}. Use another model."
)
_LOGIN = "log in with `hf auth login`, or set HF_TOKEN"
_fetched = {}  # handle -> directory


def is_handle(preset):
  """Returns whether a preset is a name on a hub."""
  return os.fspath(preset).startswith(_SCHEMES)


def with_scheme(name):
  """Returns owner/name as a handle, and any other name unchanged."""
  return f"{_HUGGINGFACE}{name}" if _NAME.fullmatch(name) else name


def fetch(preset, token=None, local_files_only=False):
  """Returns the local directory of a model, downloaded unless it is cached.

  Args:
    preset: a handle; anything else is returned as it is.
    token: str, of the hub; None takes HF_TOKEN or that of the login.
    local_files_only: whether to ask the cache and not the network.

  Returns:
    The local directory.

  Raises:
    ValueError: there is no such model or revision, one has to log in, there is
      no network, or the model is none that is read.
  """
  preset = os.fspath(preset)
  if preset.startswith(_HUGGINGFACE):
    _fetched[preset] = _fetch_huggingface(preset, token, local_files_only)
  elif is_handle(preset):
    _fetched[preset] = fetch_by_keras_hub(preset)
  return _fetched.get(preset, preset)


def fetched(preset):
  """Fetches a preset as `fetch` does, but only once in a process."""
  return _fetched.get(os.fspath(preset)) or fetch(preset)


def fetch_by_keras_hub(preset):
  """Returns the local directory of a preset that KerasHub downloads."""
  try:
    paths = {name: preset_file(preset, name) for name in _KERAS_FILES}
    if not paths[_CONFIG_FILE]:
      paths = {name: preset_file(preset, name) for name in _SAVED_MODEL_FILES}
  # Each hub's client raises its own exceptions: network, login, no package.
  except Exception as error:
    raise ValueError(
      f"KerasHub cannot fetch {preset}: {_first_line(error)}. Check the name, "
      "the network and the login of the hub, or give the directory of a copy."
    ) from error
  path = paths.get(_CONFIG_FILE) or paths.get(SAVED_MODEL_FILE)
  if not path:
    raise ValueError(f"{preset} {_NO_MODEL}")
  return os.path.dirname(path)


def _fetch_huggingface(handle, token, local_files_only):
  import huggingface_hub  # Half a second, for such names only.
  from huggingface_hub import constants

  name, _, revision = handle.removeprefix(_HUGGINGFACE).partition("@")
  failures = []

  def call(function, **arguments):
    try:
      return function(name, **arguments)
    # The client raises its own exceptions, and those of its HTTP client.
    except Exception as error:
      reason = _reason(error, failures)
      raise ValueError(f"{handle} {reason}") from error

  api = huggingface_hub.HfApi(token=token)
  repo_info = api.repo_info

  def ask(repo_id, **arguments):
    """Calls `HfApi.repo_info` with a timeout; it waits for ever without one."""
    arguments["timeout"] = constants.HF_HUB_ETAG_TIMEOUT
    try:
      return repo_info(repo_id, **arguments)
    except Exception as error:
      failures.append(error)
      raise

  api.repo_info = ask
  commit = call(
    api.resolve_revision,
    revision=revision or None,
    local_files_only=local_files_only,
  )
  local_files_only |= bool(failures)  # The cache serves without the network.
  cached = huggingface_hub.try_to_load_from_cache(
    name, _CONFIG_FILE, revision=commit.resolved
  )
  if commit == revision and not (local_files_only or isinstance(cached, str)):
    # A preset that names a commit was not looked up yet. Without a network,
    # the client would try again and again to list its files.
    call(ask, revision=revision)

  def fetch_files(patterns):
    return call(
      huggingface_hub.snapshot_download,
      revision=commit,
      token=token,
      local_files_only=local_files_only,
      allow_patterns=list(patterns),
    )

  folder = fetch_files(_DESCRIPTIONS)
  path = os.path.join(folder, _CONFIG_FILE)
  if not os.path.exists(path):
    fetch_files(_SAVED_MODEL_FILES)
    if os.path.exists(os.path.join(folder, SAVED_MODEL_FILE)):
      return folder
    raise ValueError(f"{handle} {_NO_MODEL}")
  weights = _SAFETENSORS, _PICKLED
  try:  # before the weights of another architecture
    if "registered_name" in read_json_object(path):
      weights = (_KERAS_WEIGHTS,)
    else:
      huggingface.read_config(folder)
  except ValueError as error:
    raise ValueError(f"{handle}: {error}") from error
  for patterns in weights:
    fetch_files(patterns)
    files = os.listdir(folder)
    if any(fnmatch.filter(files, pattern) for pattern in patterns):
      return folder
  names = ", ".join(names[0] for names in weights)
  raise ValueError(
    f"{handle} has no weights that can be read: none of {names}. Save the "
    "model by transformers' save_pretrained, or use another one."
  )


def _reason(error, failures):
  """Returns why a call of the client failed, and the remedy."""
  from huggingface_hub import errors  # As in `_fetch_huggingface`.

  if isinstance(error, errors.GatedRepoError):
    return f"is gated. Accept its terms on its page, then {_LOGIN}."
  if isinstance(error, errors.RepositoryNotFoundError):
    return f"is not on the hub, or private. Check the name, or {_LOGIN}."
  if isinstance(error, errors.RevisionNotFoundError):
    return "has no such revision. Check what follows the @."
  if isinstance(error, errors.HFValidationError):
    return "is no name: hf://owner/name, or hf://owner/name@revision."
  not_found = errors.RevisionResolutionError, errors.LocalEntryNotFoundError
  if failures or isinstance(error, not_found):
    cause = _first_line([error.__cause__ or error, *failures][-1])
    return (
      f"is not in the cache, and the hub does not answer ({cause}). Check the "
      "network, HF_ENDPOINT and HF_HUB_OFFLINE, or give the directory of a "
      "copy."
    )
  return (
    f"cannot be fetched: {_first_line(error)}. Try again; files that are whole "
    "stay in the cache."
  )


def _first_line(error):
  """Returns the type of an exception and the first line of its message."""
  lines = str(error).strip().splitlines()
  return ": ".join([type(error).__name__, *lines[:1]]).rstrip(".")
