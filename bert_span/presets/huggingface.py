"""Encoders from Hugging Face directories, read from safetensors files only."""

import os
import re

import ml_dtypes  # noqa: F401 -- lets NumPy hold bfloat16 tensors
import numpy as np
import safetensors

from bert_span.modeling.encoder import build_encoder
from bert_span.modeling.encoder_config import huggingface_config
from bert_span.modeling.keras_internals import preset_file
from bert_span.presets.encoder_weights import LoadedEncoder, fill_encoder
from bert_span.storage.files import read_json_object
from bert_span.storage.log import log_line

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"
INDEX_FILE = "model.safetensors.index.json"
_PICKLED = re.compile(r".*\.(bin|pt|pth|ckpt|pkl|pickle)$")
# Names have this prefix in a model with a head, and none in a plain encoder.
_PREFIX = "bert."
_ORIGINAL_EPSILON = 1e-12


def load_huggingface(directory, dtype=None):
  """Loads a BERT encoder from a local Hugging Face directory.

  The directory has config.json, and model.safetensors or
  model.safetensors.index.json with its shards. GELU is computed in the tanh
  form, as the original does. Hugging Face's "gelu" is the erf form, which
  changes the outputs by about 1e-3.

  Returns:
    A LoadedEncoder; with the head of a BertForQuestionAnswering.

  Raises:
    ValueError: not a BERT, no safetensors, or a tensor is missing.
  """
  config_path = os.path.join(directory, CONFIG_FILE)
  values = read_json_object(config_path)
  _check_is_bert(values, config_path)
  files = _tensor_files(directory)
  config = huggingface_config(values, config_path)
  backbone = build_encoder(config, dtype)

  def read_kernel(name):
    tensor = _read_tensor(files[name], name)
    is_linear = name.endswith(".weight") and not (
      "LayerNorm" in name or "_embeddings" in name
    )
    # torch.nn.Linear keeps [outputs, inputs].
    return tensor.T if is_linear else tensor

  fill_encoder(backbone, files, read_kernel, _possible_names, directory)
  vocabulary, lower_case = find_tokenizer(directory)
  return LoadedEncoder(
    backbone=backbone,
    head_weights=_read_head(files),
    vocabulary_path=vocabulary,
    lower_case=lower_case,
    description=f"the Hugging Face directory {directory}",
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


def is_pickled(name):
  """Whether a file name is one that PyTorch gives to pickled weights."""
  return _PICKLED.match(name) is not None


def pickled_weights_error(directory, files):
  """The ValueError for a directory that has only pickled weights."""
  pickled = ", ".join(filter(is_pickled, files))
  return ValueError(
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
  # The default is that of Hugging Face's BertTokenizer.
  lower_case = bool(values.get("do_lower_case", True))
  return preset_file(preset, "vocab.txt"), lower_case


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
    log_line(
      f"{path} asks for layer_norm_eps {epsilon}; the encoder uses the "
      f"original's {_ORIGINAL_EPSILON}."
    )


def _tensor_files(directory):
  """The safetensors file that holds each tensor, as a dict by its name."""
  single = os.path.join(directory, WEIGHTS_FILE)
  index = os.path.join(directory, INDEX_FILE)
  if os.path.exists(single):
    try:
      with safetensors.safe_open(single, framework="numpy") as file:
        return dict.fromkeys(file.keys(), single)
    except (OSError, safetensors.SafetensorError) as error:
      raise ValueError(
        f"Cannot read {single} as safetensors: {error}"
      ) from error
  if not os.path.exists(index):
    files = sorted(os.listdir(directory))
    if any(map(is_pickled, files)):
      raise pickled_weights_error(directory, files)
    raise ValueError(
      f"{directory} has neither {WEIGHTS_FILE} nor {INDEX_FILE}. "
      f"Received a directory with: {', '.join(files)}"
    )
  shards = read_json_object(index).get("weight_map")
  if not isinstance(shards, dict):
    raise ValueError(f'{index} lacks the object "weight_map".')
  return {
    name: os.path.join(directory, shard) for name, shard in shards.items()
  }


def _read_tensor(path, name):
  """One tensor as float32, whatever the precision it is stored in."""
  try:
    with safetensors.safe_open(path, framework="numpy") as file:
      return np.asarray(file.get_tensor(name)).astype(np.float32)
  except (OSError, TypeError, safetensors.SafetensorError) as error:
    raise ValueError(f"Cannot read {name} from {path}: {error}") from error


def _possible_names(original):
  """The names that a weight may have in a file."""
  name = huggingface_name(original)
  names = [name, _PREFIX + name]
  if original.endswith(("/gamma", "/beta")):
    # Old files call LayerNorm's weights gamma and beta, as the original does.
    old = original.replace("layer_", "layer.").replace("/", ".")
    names += [old, _PREFIX + old]
  return names


def _read_head(files):
  """The head of question answering as a span head; {} if there is none."""
  if "qa_outputs.weight" not in files:
    return {}
  kernel = _read_tensor(files["qa_outputs.weight"], "qa_outputs.weight").T
  if kernel.shape[-1] != 2:
    log_line(
      f"qa_outputs.weight has {kernel.shape[-1]} outputs, not 2 (start, end), "
      "so it is not used."
    )
    return {}
  tensors = {"kernel": kernel}  # [hidden, 2]
  if "qa_outputs.bias" in files:
    tensors["bias"] = _read_tensor(files["qa_outputs.bias"], "qa_outputs.bias")
  return {"span_head": tensors}
