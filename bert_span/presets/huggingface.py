"""Encoders from Hugging Face directories."""

import dataclasses
import os
import re

from bert_span.modeling.architectures import ARCHITECTURES
from bert_span.modeling.heads import TRANSFORM_EPSILON
from bert_span.modeling.keras_internals import preset_file
from bert_span.options.messages import shortened
from bert_span.presets.architectures.architecture_files import (
  all_files,
  files_of,
)
from bert_span.presets.encoder_weights import (
  LoadedPreset,
  load_encoder,
  parse_config,
)
from bert_span.presets.huggingface_tokenizer import find_huggingface_tokenizer
from bert_span.storage import pickled_weights
from bert_span.storage.files import (
  is_bare_name,
  read_json_object,
)
from bert_span.storage.log import log_line
from bert_span.storage.tensor_files import (
  read_tensors,
  tensor_shapes,
)

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"
INDEX_FILE = "model.safetensors.index.json"
# The first of these files that a directory has is read.
WEIGHTS_FILES = (WEIGHTS_FILE, INDEX_FILE, *pickled_weights.FILES)
POSITIONS = "embeddings.position_embeddings.weight"
TOKEN_TYPES = "embeddings.token_type_embeddings.weight"
_OTHER_MODEL = "Use another model."
# Keys of config.json that change what is computed -> the values that are
# computed here (None for a missing key), and the remedy. An architecture has
# more of them, and keys whose values are used, in its `ArchitectureFiles`.
_CONFIG_VALUES = {
  "position_embedding_type": ((None, "absolute"), _OTHER_MODEL),
  "is_decoder": (
    (None, False),
    "A decoder masks later tokens. Use an encoder.",
  ),
  "add_cross_attention": ((None, False), "Use an encoder."),
  "pruned_heads": (
    (None, {}),
    "Layers with fewer heads cannot be loaded. Use the model before pruning.",
  ),
  "quantization_config": (
    (None,),
    "Use a copy of the model that is not quantized, in float32, float16 or "
    "bfloat16.",
  ),
}
# What torch.compile and DistributedDataParallel put before a weight's name.
_WRAPPER_PREFIX = re.compile(r"^((_orig_mod|module)\.)+")


def load_huggingface(directory):
  """Loads a local directory as a `LoadedPreset`, with its span head if any."""
  config = read_config(directory)
  files = files_of(config.architecture)
  tensors, shapes = find_tensors(directory, files.prefix)
  if any(
    path.endswith(pickled_weights.EXTENSION) for path, _ in tensors.values()
  ):
    log_line(
      f"{directory} has pickled weights only. They are read without PyTorch, "
      "and nothing in them is run."
    )
  names = files.weight_names(config)
  _add_row_ranges(names.values(), tensors, shapes)
  kernels = {name for path, name in names.items() if path.endswith("/kernel")}
  first_position = files.first_position
  # Shapes in KerasHub's layout.
  for name, shape in shapes.items():
    if name == POSITIONS and shape:
      shapes[name] = [shape[0] - first_position, *shape[1:]]
    elif name in kernels:
      shapes[name] = shape[::-1]

  def read(name):
    tensor = read_tensor(tensors, name)
    if name == POSITIONS:
      tensor = tensor[first_position:]
      if first_position and TOKEN_TYPES in tensors:
        # All tokens have the first type, so it is added to each position.
        types = read_tensor(tensors, TOKEN_TYPES)
        if types.shape[1:] != tensor.shape[1:] or not len(types):
          raise ValueError(
            f"{directory}: {tensors[TOKEN_TYPES][1]} must have the shape [1 or "
            f"more, {tensor.shape[1]}]. Received: {list(types.shape)}. "
            "Download the weights again."
          )
        tensor = tensor + types[0]
    return tensor.T if name in kernels else tensor

  return LoadedPreset(
    load_encoder(config, files.weight_names, shapes, read, directory),
    _read_span_head(tensors, config, directory),
    description=f"the Hugging Face directory {directory}",
    **find_huggingface_tokenizer(directory, config.architecture),
  )


def _add_row_ranges(names, tensors, shapes):
  """Adds the names "x#1/3" of parts of a tensor, see `ArchitectureFiles`.

  A tensor whose rows cannot be divided keeps its shape, which is refused later.
  """
  for name in names:
    tensor_name, _, part = name.partition("#")
    shape = shapes.get(tensor_name)
    if not part or not shape:
      continue
    number, count = map(int, part.split("/"))
    rows, rest = divmod(shape[0], count)
    shapes[name] = shape if rest else [rows, *shape[1:]]
    row_range = slice(number * rows, (number + 1) * rows)
    tensors[name] = *tensors[tensor_name], row_range


def find_tensors(directory, prefix):
  """Finds the weights of a local directory.

  Args:
    directory: with safetensors or pickled weights.
    prefix: the start of the encoder's weights' names in a model with a head.

  Returns:
    A dict of pairs of a file and the name in it, and a dict of shapes. The keys
    are the names of an encoder without a head in today's transformers.
  """
  tensors, shapes = {}, {}
  for path in _tensor_files(directory):
    for stored_name, shape in tensor_shapes(path).items():
      name = _encoder_name(stored_name, prefix)
      if name in tensors:
        raise ValueError(
          f"{path}: {stored_name} is the same weight as {tensors[name][1]} in "
          f"{tensors[name][0]}. Remove the one that was not trained."
        )
      tensors[name], shapes[name] = (path, stored_name), shape
  return tensors, shapes


def read_config(preset):
  """Returns the `EncoderConfig` of a directory or handle.

  Raises:
    ValueError: config.json describes a model that is not computed here; the
      message names the key.
  """
  path = preset_file(preset, CONFIG_FILE)
  values = read_json_object(path)
  classes = values.get("architectures") or []
  classes = classes if isinstance(classes, list) else [classes]
  architectures = {
    str(name): _architecture_of_class(str(name)) for name in classes
  }
  if values.get("model_type") is None:  # as in some files of 2020
    values["model_type"] = next(filter(None, architectures.values()), None)
  config = huggingface_config(values, path)
  files = files_of(config.architecture)
  _check_config(values, files, path)
  for class_name, architecture in architectures.items():
    # RoBERTa, XLM-R and CamemBERT compute the same.
    if not architecture or files_of(architecture).prefix != files.prefix:
      raise ValueError(
        f"{path}: architectures must be classes of {config.architecture}, such "
        f"as {files.class_name}ForQuestionAnswering. Received: {class_name}. "
        "Use the config.json of the model; if the class is an own one around "
        "such an encoder, remove the key."
      )
  return config


def huggingface_config(values, path):
  """Returns the `EncoderConfig` of the values in a Hugging Face config.json."""
  name = values.get("model_type")
  if str(name) not in ARCHITECTURES:  # A list cannot be looked up.
    raise ValueError(
      f"{path}: model_type must be one of {', '.join(ARCHITECTURES)}; other "
      f"architectures compute something else. Received: {name!r}"
    )
  files = files_of(name)
  if files.older_values:
    values = files.older_values(values, path)
  config = parse_config(name, {**files.defaults, **values}, path, files.keys)
  positions = config.max_sequence_length - files.first_position
  return dataclasses.replace(config, max_sequence_length=positions)


def _architecture_of_class(class_name):
  """Returns the architecture of a transformers class, None if unknown."""
  return next(
    (
      name
      for name, files in all_files().items()
      if re.match(
        f"{files.class_name}(For[A-Z]|Model|LMHead|PreTrained)", class_name
      )
    ),
    None,
  )


def read_tensor(tensors, name):
  """Returns a weight of `find_tensors` as a float32 array."""
  path, stored_name, *row_range = tensors[name]
  tensor = read_tensors(path, [stored_name])[stored_name]
  return tensor[row_range[0]] if row_range else tensor


def _check_config(values, files, path):
  """Refuses values of config.json that ask for another computation."""
  rules = dict(_CONFIG_VALUES)
  for key, accepted in files.values.items():
    rules[key] = accepted, _OTHER_MODEL
  for key, (accepted, remedy) in rules.items():
    if values.get(key) not in accepted:
      shown = ", ".join("missing" if x is None else repr(x) for x in accepted)
      raise ValueError(
        f"{path}: {key} must be {shown}. Received: "
        f"{shortened(values.get(key))}. {remedy}"
      )


def _encoder_name(stored_name, prefix):
  """Returns a weight's name in an encoder without a head."""
  name = _WRAPPER_PREFIX.sub("", stored_name).removeprefix(prefix)
  # Old files call LayerNorm's weights gamma and beta, as the original does.
  name = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", name)
  return re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name)


def _tensor_files(directory):
  """Returns the paths of the files that hold a directory's weights."""
  files = sorted(os.listdir(directory))
  weights_file = next((name for name in WEIGHTS_FILES if name in files), None)
  if not weights_file:
    raise ValueError(
      f"{directory} has none of {', '.join(WEIGHTS_FILES)}. Download the "
      "weights under these names. Received a directory with: "
      f"{', '.join(files)}"
    )
  path = os.path.join(directory, weights_file)
  if not weights_file.endswith(".json"):
    return [path]
  shards = read_json_object(path).get("weight_map")
  if not isinstance(shards, dict):
    raise ValueError(f'{path} lacks the object "weight_map".')
  for name, shard in shards.items():
    if not is_bare_name(shard):
      raise ValueError(
        f"{path}: the file of {name} must be a name in the same directory. "
        f"Received: {shard!r}. Download the index again."
      )
  return [os.path.join(directory, name) for name in sorted({*shards.values()})]


def _read_span_head(tensors, config, directory):
  """Returns {"span_head": its weights by name}; {} without such a head."""
  names = files_of(config.architecture).head
  path = os.path.join(directory, CONFIG_FILE)
  classes = read_json_object(path).get("architectures") or []
  is_answering = any(str(c).endswith("QuestionAnswering") for c in classes)
  # The name qa_outputs says the task. ModernBERT's head has more weights, and
  # the same names for every task.
  if len(names) > 2 and not is_answering:
    return {}
  head = {
    name: read_tensor(tensors, tensor_name).T
    for name, tensor_name in names.items()
    if tensor_name in tensors
  }
  kernel = names["kernel"]
  if "kernel" not in head:
    return {}
  if head["kernel"].ndim != 2:
    raise ValueError(
      f"{directory}: {kernel} must have the shape [2, hidden]. "
      f"Received: {list(head['kernel'].shape[::-1])}. Download the weights "
      "again."
    )
  num_outputs = head["kernel"].shape[-1]  # of [hidden, 2]
  if num_outputs != 2:
    log_line(
      f"{kernel} has {num_outputs} outputs, not 2 (start, end), so it is not "
      "used."
    )
    return {}
  check_head_epsilon(head, config, path)
  return {"span_head": head}


def check_head_epsilon(head, config, path):
  """Refuses a head whose LayerNorm needs another epsilon than `SpanHead` has.

  Args:
    head: dict of the head's weights, by their names in `SpanHead`.
    config: `EncoderConfig`, whose epsilon transformers gives to the head, too.
    path: the file or directory, for the message.
  """
  epsilon = config.layer_norm_epsilon
  if "transform_gamma" in head and epsilon != TRANSFORM_EPSILON:
    raise ValueError(
      f"{path}: norm_eps must be {TRANSFORM_EPSILON} for a model with a head. "
      f"Received: {epsilon}. {_OTHER_MODEL}"
    )
