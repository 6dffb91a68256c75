"""Encoders from Hugging Face directories, out of safetensors files only."""

import os
import re

import ml_dtypes  # noqa: F401 -- lets NumPy hold bfloat16 tensors
import numpy as np
import safetensors
from absl import logging

from bert_span.modeling import encoder_config
from bert_span.modeling.encoder import build_encoder
from bert_span.presets import encoder_weights
from bert_span.presets.loaded_encoder import LoadedEncoder

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"
INDEX_FILE = "model.safetensors.index.json"
_PICKLED = re.compile(r".*\.(bin|pt|pth|ckpt|pkl|pickle)$")
# Names have this prefix in a model with a head, and none in a plain encoder.
_PREFIX = "bert."
_ORIGINAL_EPSILON = 1e-12


def load_huggingface(directory, dtype=None):
  """Loads a BERT encoder from a Hugging Face directory.

  GELU is computed in the tanh form, as the original does; Hugging Face's
  "gelu" is the erf form, which differs by some 1e-3 in the outputs.

  Args:
    directory: local directory with config.json and model.safetensors, or
      with model.safetensors.index.json and its shards.
    dtype: a Keras dtype policy or its name; None is Keras' current one.

  Returns:
    A LoadedEncoder; with the head of a BertForQuestionAnswering.

  Raises:
    ValueError: not a BERT, no safetensors, or a tensor is missing.
  """
  config_path = os.path.join(directory, CONFIG_FILE)
  values = encoder_config.read_json_object(config_path)
  _check_is_bert(values, config_path)
  files = _tensor_files(directory)
  config = encoder_config.huggingface_config(values, config_path)
  backbone = build_encoder(config, dtype)
  names = _stored_names(config.num_layers, files, directory)

  def read_kernel(name):
    tensor = _read_tensor(files[name], name)
    # torch.nn.Linear keeps [outputs, inputs].
    return tensor.T if _is_linear(name) else tensor

  encoder_weights.assign_encoder_weights(
    backbone, read_kernel, names, directory
  )
  return LoadedEncoder(
    backbone=backbone,
    head_weights=_read_heads(files),
    vocabulary_path=_existing(os.path.join(directory, "vocab.txt")),
    lower_case=_reads_lower_case(directory),
    description=f"the Hugging Face directory {directory}",
  )


def _check_is_bert(values, path):
  """Refuses architectures that BertBackbone does not compute."""
  if values.get("model_type") != "bert":
    raise ValueError(
      f'{path}: model_type must be "bert"; other architectures compute '
      f"something else. Received: {values.get('model_type')!r}"
    )
  position_type = values.get("position_embedding_type") or "absolute"
  if position_type != "absolute":
    raise ValueError(
      f'{path}: position_embedding_type must be "absolute". '
      f"Received: {position_type!r}"
    )
  epsilon = values.get("layer_norm_eps", _ORIGINAL_EPSILON)
  if epsilon != _ORIGINAL_EPSILON:
    logging.warning(
      "%s asks for layer_norm_eps %s; the encoder uses the original's %s.",
      path,
      epsilon,
      _ORIGINAL_EPSILON,
    )


def _tensor_files(directory):
  """The safetensors file that holds each tensor, as a dict from its name."""
  single = os.path.join(directory, WEIGHTS_FILE)
  index = os.path.join(directory, INDEX_FILE)
  if os.path.exists(single):
    return dict.fromkeys(_tensor_names(single), single)
  if not os.path.exists(index):
    raise _no_safetensors_error(directory)
  shards = encoder_config.read_json_object(index).get("weight_map")
  if not isinstance(shards, dict):
    raise ValueError(f'{index} lacks the object "weight_map".')
  return {
    name: os.path.join(directory, shard) for name, shard in shards.items()
  }


def _no_safetensors_error(directory):
  files = sorted(os.listdir(directory))
  if any(map(is_pickled, files)):
    return pickled_weights_error(directory, files)
  return ValueError(
    f"{directory} has neither {WEIGHTS_FILE} nor {INDEX_FILE}. "
    f"Received a directory with: {', '.join(files)}"
  )


def is_pickled(name):
  """Whether a file name is one that PyTorch gives to pickled weights."""
  return _PICKLED.match(name) is not None


def pickled_weights_error(directory, files):
  """The ValueError for a directory whose weights are pickled only."""
  pickled = ", ".join(filter(is_pickled, files))
  return ValueError(
    f"{directory} holds only pickled weights ({pickled}), which can run any "
    "code when they are loaded; bert_span reads safetensors only. Take the "
    f"{WEIGHTS_FILE} of the same model, or convert it where transformers and "
    f"PyTorch are installed: AutoModel.from_pretrained({directory!r})"
    ".save_pretrained(NEW_DIRECTORY, safe_serialization=True)."
  )


def _tensor_names(path):
  try:
    with safetensors.safe_open(path, framework="numpy") as file:
      return list(file.keys())
  except (OSError, safetensors.SafetensorError) as error:
    raise ValueError(f"Cannot read {path} as safetensors: {error}") from error


def _read_tensor(path, name):
  """One tensor as float32, whatever the precision it is stored in."""
  try:
    with safetensors.safe_open(path, framework="numpy") as file:
      return np.asarray(file.get_tensor(name)).astype(np.float32)
  except (OSError, TypeError, safetensors.SafetensorError) as error:
    raise ValueError(f"Cannot read {name} from {path}: {error}") from error


def huggingface_name(original_name):
  """Hugging Face's name of a weight, from the original's.

  encoder/layer_0/output/dense/kernel -> encoder.layer.0.output.dense.weight
  """
  name = original_name.replace("layer_", "layer.").replace("/", ".")
  name = name.replace(".gamma", ".weight").replace(".beta", ".bias")
  if name.endswith("_embeddings"):
    return name + ".weight"
  return name.replace(".kernel", ".weight")


def _stored_names(num_layers, files, directory):
  """The name in these files of each weight, as a dict from the weight's path.

  Old files call LayerNorm's weights gamma and beta, as the original does.
  """
  names, missing = {}, []
  for path, original in encoder_weights.original_names(num_layers).items():
    plain = huggingface_name(original)
    old = plain
    if original.endswith(("/gamma", "/beta")):
      old = original.replace("layer_", "layer.").replace("/", ".")
    candidates = [_PREFIX + plain, plain, _PREFIX + old, old]
    found = next((name for name in candidates if name in files), None)
    if found is not None:
      names[path] = found
    elif path not in encoder_weights.POOLER:
      missing.append(plain)
  if missing:
    raise encoder_weights.missing_names_error(directory, missing, files)
  encoder_weights.report_missing_pooler(names, directory)
  return names


def _is_linear(name):
  return name.endswith(".weight") and not (
    "LayerNorm" in name or "_embeddings" in name
  )


def _read_heads(files):
  """The head of question answering as a span head, {} where there is none."""
  if "qa_outputs.weight" not in files:
    return {}
  kernel = _read_tensor(files["qa_outputs.weight"], "qa_outputs.weight").T
  if kernel.shape[-1] != 2:
    logging.warning(
      "qa_outputs.weight has %d outputs and not 2 (start, end): not used.",
      kernel.shape[-1],
    )
    return {}
  tensors = {"kernel": kernel}  # [hidden, 2]
  if "qa_outputs.bias" in files:
    tensors["bias"] = _read_tensor(files["qa_outputs.bias"], "qa_outputs.bias")
  return {"span_head": tensors}


def _reads_lower_case(directory):
  """Whether the encoder was trained on lower-cased text."""
  path = os.path.join(directory, "tokenizer_config.json")
  if not os.path.exists(path):
    return True  # Hugging Face's BertTokenizer default.
  return bool(encoder_config.read_json_object(path).get("do_lower_case", True))


def _existing(path):
  return path if os.path.exists(path) else None
