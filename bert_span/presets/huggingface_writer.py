"""Writes models as Hugging Face directories."""

import os

import numpy as np

from bert_span.modeling.encoder import encoder_config, merged_weights
from bert_span.modeling.heads import SpanHead
from bert_span.presets.architectures.architecture_files import files_of
from bert_span.presets.encoder_weights import check_read_back, flat_tensors
from bert_span.presets.huggingface import (
  CONFIG_FILE,
  POSITIONS,
  TOKEN_TYPES,
  WEIGHTS_FILE,
  check_head_epsilon,
  load_huggingface,
)
from bert_span.presets.huggingface_tokenizer import write_huggingface_tokenizer
from bert_span.storage.atomic_file import (
  unfinished_directory,
  write_json_atomically,
)
from bert_span.storage.tensor_files import write_tensors


def save_huggingface(extractor, directory):
  """Writes a `SpanExtractor` for AutoModelForQuestionAnswering."""
  if not isinstance(extractor.head, SpanHead):
    raise ValueError(
      "transformers has a class for models with a span head only. Received: a "
      f"model with a {extractor.head_name} head. Save it by save_to_preset."
    )
  extractor.check_preprocessor()
  backbone, tokenizer = extractor.backbone, extractor.preprocessor.tokenizer
  config = encoder_config(backbone)
  files = files_of(config.architecture)
  if files.check_transformers:
    files.check_transformers(config)
  class_name = f"{files.class_name}ForQuestionAnswering"
  extractor.check_trained()
  weights = {"bias": np.zeros(2, np.float32)}
  weights |= {w.name: value for w, value in merged_weights(extractor.head)}
  if weights.keys() != files.head.keys():
    raise ValueError(
      f"{class_name} of transformers has a head with {', '.join(files.head)}. "
      f"Received one with {', '.join(weights)}. Keep it in "
      "the format of this package."
    )
  check_head_epsilon(weights, config, directory)
  head = {files.head[name]: value.T.copy() for name, value in weights.items()}
  with unfinished_directory(directory) as unfinished:
    write_model(unfinished, backbone, head, class_name)
    write_huggingface_tokenizer(
      unfinished, backbone, tokenizer.full_vocabulary, tokenizer.do_lower_case
    )


def write_model(directory, backbone, head, class_name):
  """Writes the config.json and the weights of a model of transformers.

  Args:
    directory: local directory.
    backbone: the encoder.
    head: dict of the head's tensors, by their names in transformers.
    class_name: the model's class in transformers.
  """
  tensors = encoder_tensors(backbone) | head
  weights_path = os.path.join(directory, WEIGHTS_FILE)
  # transformers refuses a file without a format.
  write_tensors(weights_path, tensors, {"format": "pt"})
  config = {**config_values(backbone), "architectures": [class_name]}
  write_json_atomically(os.path.join(directory, CONFIG_FILE), config)
  check_read_back(
    merged_weights(backbone),
    {w.path: w for w in load_huggingface(directory).backbone.weights},
    weights_path,
  )


def encoder_tensors(backbone):
  """Returns the weights of a backbone, by their names in transformers."""
  config = encoder_config(backbone)
  files = files_of(config.architecture)
  names, row_groups = files.weight_names(config), {}
  for path, tensor in flat_tensors(backbone).items():
    if names[path] == POSITIONS:
      tensor = np.pad(tensor, ((files.first_position, 0), (0, 0)))
    elif path.endswith("/kernel"):
      tensor = tensor.T.copy()
    # Weights that are one tensor in transformers follow each other.
    name, _, _ = names[path].partition("#")
    row_groups.setdefault(files.prefix + name, []).append(tensor)
  tensors = {name: np.concatenate(rows) for name, rows in row_groups.items()}
  if files.first_position:  # The positions include the only token type.
    zeros = np.zeros([1, backbone.hidden_dim], np.float32)
    tensors[files.prefix + TOKEN_TYPES] = zeros
  return tensors


def config_values(backbone):
  """Returns the values of transformers' config.json for a backbone."""
  config = encoder_config(backbone)
  files = files_of(config.architecture)
  values = {key: getattr(config, name) for name, key in files.keys.items()}
  values["max_position_embeddings"] += files.first_position
  values["initializer_range"] = 0.02  # The backbone does not keep its own.
  values["model_type"] = config.architecture
  required = {key: accepted[0] for key, accepted in files.values.items()}
  return values | files.written | required
