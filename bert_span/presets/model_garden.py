"""BERTs of TensorFlow 2: checkpoints of Model Garden, SavedModels of TF Hub.

These files store a variable under the path of the objects that hold it, which
differs from file to file: encoder/layer_with_weights-4/_attention_layer/..., or
variables/5. They also store the variable's name, which is the same in all
files. Nothing in a SavedModel is run: its protocol buffers and its variables
are read.
"""

import os
import re

import yaml
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel
from tensorflow.core.protobuf.trackable_object_graph_pb2 import (
  TrackableObjectGraph,
)

from bert_span.modeling.encoder_config import MAX_LAYERS, EncoderConfig
from bert_span.options.messages import shortened
from bert_span.presets.encoder_weights import (
  SAVED_MODEL_FILE,
  USE_CONFIG,
  CheckpointReader,
  LoadedPreset,
  abridged,
  flat_shape,
  load_encoder,
  parse_config,
)
from bert_span.storage.files import (
  is_bare_name,
  is_file,
  read_bytes,
  read_text,
)

_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
_WEIGHTS = {
  "token_embedding/embeddings": "word_embeddings/embeddings",
  "position_embedding/embeddings": "position_embedding/embeddings",
  "segment_embedding/embeddings": "type_embeddings/embeddings",
  "embeddings_layer_norm/gamma": "embeddings/layer_norm/gamma",
  "embeddings_layer_norm/beta": "embeddings/layer_norm/beta",
  "pooled_dense/kernel": "pooler_transform/kernel",
  "pooled_dense/bias": "pooler_transform/bias",
}
_LAYER = {
  "self_attention_layer/query/kernel": "self_attention/query/kernel",
  "self_attention_layer/query/bias": "self_attention/query/bias",
  "self_attention_layer/key/kernel": "self_attention/key/kernel",
  "self_attention_layer/key/bias": "self_attention/key/bias",
  "self_attention_layer/value/kernel": "self_attention/value/kernel",
  "self_attention_layer/value/bias": "self_attention/value/bias",
  "self_attention_layer/attention_output/kernel": (
    "self_attention/attention_output/kernel"
  ),
  "self_attention_layer/attention_output/bias": (
    "self_attention/attention_output/bias"
  ),
  "self_attention_layer_norm/gamma": "self_attention_layer_norm/gamma",
  "self_attention_layer_norm/beta": "self_attention_layer_norm/beta",
  "feedforward_intermediate_dense/kernel": "intermediate/kernel",
  "feedforward_intermediate_dense/bias": "intermediate/bias",
  "feedforward_output_dense/kernel": "output/kernel",
  "feedforward_output_dense/bias": "output/bias",
  "feedforward_layer_norm/gamma": "output_layer_norm/gamma",
  "feedforward_layer_norm/beta": "output_layer_norm/beta",
}
# Names of variables in 2019 and 2020 -> names today.
_OLDER_NAMES = {
  "embedding_postprocessor/type_embeddings": "type_embeddings/embeddings",
  "embedding_postprocessor/position_embeddings": (
    "position_embedding/embeddings"
  ),
  "embedding_postprocessor/layer_norm": "embeddings/layer_norm",
  "bert_model/encoder/layer_": "transformer/layer_",
  "/self_attention_output/": "/self_attention/attention_output/",
}
# The name of a variable of an encoder, BERT or another one of Model Garden.
_ENCODER_NAME = re.compile(
  r"(?:^|/)((?:word_embeddings|position_embedding|type_embeddings"
  r"|embeddings/layer_norm|embedding_projection|transformer|pooler_transform)"
  r"/.+)"
)
_LAYER_NUMBER = re.compile(r"transformer/layer_(\d+)/")
_QUERY = "transformer/layer_0/self_attention/query/kernel"
# Shapes of variables, as fields of an `EncoderConfig` and the size of a head.
_SHAPES = {
  "word_embeddings/embeddings": ("vocabulary_size", "hidden_dim"),
  "position_embedding/embeddings": ("max_sequence_length", "hidden_dim"),
  "type_embeddings/embeddings": ("num_segments", "hidden_dim"),
  _QUERY: ("hidden_dim", "num_heads", "head_dim"),
  "transformer/layer_0/intermediate/kernel": ("hidden_dim", "intermediate_dim"),
}
# Operations in the graph of a SavedModel -> the activation that they compute.
_ACTIVATION_OPS = {
  "Erf": "gelu",
  "Erfc": "gelu",
  "Pow": "gelu_new",
  "Relu": "relu",
  "Relu6": "relu6",
}
# Fields of an `EncoderConfig` -> keys of Model Garden's BertEncoderConfig.
_KEYS = {
  "vocabulary_size": "vocab_size",
  "num_heads": "num_attention_heads",
  "hidden_dim": "hidden_size",
  "intermediate_dim": "intermediate_size",
  "dropout": "dropout_rate",
  "attention_dropout": "attention_dropout_rate",
  "max_sequence_length": "max_position_embeddings",
  "num_segments": "type_vocab_size",
  "activation": "hidden_activation",
}
_USE_BERT = (
  "Use a BERT, such as bert_en_uncased_L-12_H-768_A-12, or a Hugging Face "
  "directory of this model."
)


def is_object_based(checkpoint):
  """Returns whether a checkpoint stores objects, as TensorFlow 2's do.

  Args:
    checkpoint: a `CheckpointReader`.
  """
  return _GRAPH in checkpoint.shapes


def load_object_checkpoint(config, checkpoint):
  """Loads an object-based checkpoint as a `LoadedPreset`, with its span head.

  Args:
    config: `EncoderConfig`.
    checkpoint: path prefix, such as .../ckpt-1000, or a SavedModel.
  """
  variables = _Variables(CheckpointReader(checkpoint))
  return LoadedPreset(
    variables.encoder(config),
    variables.heads(),
    lower_case=variables.lower_case(),
    description=f"the TensorFlow 2 checkpoint {checkpoint}",
  )


def load_saved_model(directory):
  """Loads a local SavedModel of an encoder as a `LoadedPreset`.

  Sizes come from its variables, the activation from the operations of its
  graph, the vocabulary from its assets. Rates of dropout are not stored: they
  become 0.1, as in the released models.
  """
  path = os.path.join(directory, SAVED_MODEL_FILE)
  content = read_bytes(path)
  try:
    graph = SavedModel.FromString(content).meta_graphs[0]
  except (DecodeError, IndexError) as error:
    raise ValueError(
      f"{path}: not the graph of a SavedModel ({error}). Download it again."
    ) from error
  checkpoint = CheckpointReader(directory)
  if not is_object_based(checkpoint):
    raise ValueError(
      f"{directory} is a SavedModel of TensorFlow 1. Use the version for "
      "TensorFlow 2, such as bert_en_uncased_L-12_H-768_A-12/4 on TF Hub."
    )
  variables = _Variables(checkpoint)
  # Keras' configuration of the model is in one of two files.
  metadata = os.path.join(directory, "keras_metadata.pb")
  for text in (content, read_bytes(metadata) if is_file(metadata) else b""):
    if re.search(rb'"norm_first": ?true', text):
      raise ValueError(
        f"{directory}: norm_first must be false, as in BERT. Received: true. "
        f"{_USE_BERT}"
      )
  sizes, activation = variables.sizes(), _activation(graph, directory)
  return LoadedPreset(
    variables.encoder(EncoderConfig(**sizes, activation=activation)),
    variables.heads(),
    _vocabulary_path(graph, directory),
    variables.lower_case(),
    description=f"the SavedModel {directory}",
  )


def read_params(path):
  """Reads the `EncoderConfig` in the params.yaml of Model Garden's trainer."""
  try:
    encoder = yaml.safe_load(read_text(path))["task"]["model"]["encoder"]
    encoder_type = encoder["type"]
    # Lists are dropped: a message may show a value, and a few aliases of YAML
    # make a list of any size.
    values = {
      key: None if isinstance(value, list | dict) else value
      for key, value in dict(encoder[encoder_type]).items()
    }
  except (yaml.YAMLError, LookupError, TypeError) as error:
    raise ValueError(
      f"{path}: not the parameters of a task with a task.model.encoder "
      f"({type(error).__name__}: {shortened(str(error))}). Give the "
      "params.yaml or the bert_config.json that came with the checkpoint."
    ) from error
  received = {"type": encoder_type, **values}
  accepted_values = {
    "type": ("bert", "bert_v2"),
    "embedding_size": (None, values.get("hidden_size")),
    "norm_first": (None, False),
    "output_range": (None,),
  }
  for key, accepted in accepted_values.items():
    if received.get(key) not in accepted:
      raise ValueError(
        f"{path}: {key} must be {accepted[-1]}. Received: {received[key]!r}. "
        f"{_USE_BERT}"
      )
  if values.get("hidden_activation") == "gelu":
    values["hidden_activation"] = "gelu_new"  # What Model Garden calls "gelu".
  return parse_config("bert", values, path, _KEYS)


class _Variables:
  """The variables of an object-based checkpoint, by their names.

  Args:
    checkpoint: an object-based `CheckpointReader`.

  Raises:
    ValueError: it is damaged, or holds no BERT or two.
  """

  def __init__(self, checkpoint):
    self._checkpoint = checkpoint
    self._source = source = checkpoint.path
    self._nodes = _read_nodes(checkpoint)
    self._keys = {}  # names of the encoder's variables -> keys
    attributes = [a for node in self._nodes for a in node.attributes]
    for attribute in attributes:
      name, key = attribute.full_name, attribute.checkpoint_key
      for older, newer in _OLDER_NAMES.items():
        name = name.replace(older, newer)
      match = _ENCODER_NAME.search(name)
      # An optimizer's moments have the names of their variables.
      if not match or key.startswith("optimizer/") or ".OPTIMIZER_SLOT" in key:
        continue
      name = match[1]
      if self._keys.setdefault(name, key) != key:
        raise ValueError(
          f"{source} holds two encoders: {name} is {self._keys[name]} and "
          f"{key}. Give a checkpoint of one."
        )
    if not self._keys:
      names = abridged(sorted({a.full_name for a in attributes}))
      raise ValueError(
        f"{source} is no encoder of TensorFlow Model Garden: it holds {names}. "
        f"Give the encoder, not its preprocessor. {_USE_BERT}"
      )
    numbers = filter(None, map(_LAYER_NUMBER.match, self._keys))
    last = max((int(number[1]) for number in numbers), default=0)
    self._num_layers = min(last + 1, MAX_LAYERS)
    names = {*_weight_names(self._num_layers).values()}
    if unknown_names := sorted(self._keys.keys() - names):
      raise ValueError(
        f"{source} is no BERT, but a variant such as ALBERT or ELECTRA: it "
        f"holds {abridged(unknown_names)}. {_USE_BERT}"
      )
    shapes = checkpoint.shapes
    self._shapes = {n: shapes[k] for n, k in self._keys.items() if k in shapes}

  def sizes(self):
    """Returns the sizes of the encoder, by the fields of `EncoderConfig`."""
    sizes = {"num_layers": self._num_layers}
    for name, fields in _SHAPES.items():
      shape = self._shapes.get(name, ())
      if len(shape) != len(fields):
        raise ValueError(
          f"{self._source}: {name} must have the shape "
          f"[{', '.join(fields)}]. Received: {shape}. Give it as "
          "init_checkpoint, with a bert_config_file."
        )
      sizes |= dict(zip(fields, shape, strict=True))
    del sizes["head_dim"]
    return sizes

  def encoder(self, config):
    """Builds and fills the encoder of an `EncoderConfig`."""
    shape = self._shapes.get(_QUERY, ())
    # Models of 2019 have all heads in one axis.
    if len(shape) == 3 and shape[1] != config.num_heads:
      raise ValueError(
        f"{self._source} has {shape[1]} attention heads, but the configuration "
        f"has {config.num_heads}. {USE_CONFIG}"
      )
    return load_encoder(
      config,
      lambda config: _weight_names(config.num_layers),
      {name: flat_shape(name, shape) for name, shape in self._shapes.items()},
      lambda name: self._checkpoint.read(self._keys[name]),
      self._source,
    )

  def heads(self):
    """Returns the weights of a BertSpanLabeler's span head; {} without one."""
    children = [child for node in self._nodes for child in node.children]
    node_ids = {c.node_id for c in children if c.local_name == "span_labeling"}
    if not node_ids:
      return {}
    pending = [*node_ids]
    while pending:  # The head's weights belong to objects below it.
      below = {c.node_id for c in self._nodes[pending.pop()].children}
      pending += below - node_ids
      node_ids |= below
    weights = {}
    for attribute in (a for i in node_ids for a in self._nodes[i].attributes):
      name = attribute.full_name.rpartition("/")[2]
      weights[name] = self._checkpoint.read(attribute.checkpoint_key)
    shapes = {name: list(value.shape) for name, value in weights.items()}
    expected = {
      "kernel": [self._shapes["word_embeddings/embeddings"][1], 2],
      "bias": [2],
    }
    if shapes != expected:
      raise ValueError(
        f"{self._source}: span_labeling must have weights of the shapes "
        f"{expected}. Received: {shapes}. Use a model for question answering."
      )
    return {"span_head": weights}

  def lower_case(self):
    """Returns whether text is lower-cased, None if the file does not say."""
    for child in self._nodes[0].children:
      if child.local_name == "do_lower_case":
        for attribute in self._nodes[child.node_id].attributes:
          return bool(self._checkpoint.read(attribute.checkpoint_key))
    return None


def _weight_names(num_layers):
  """Returns a dict from the paths of weights to names of variables."""
  return _WEIGHTS | {
    f"transformer_layer_{i}/{path}": f"transformer/layer_{i}/{name}"
    for i in range(num_layers)
    for path, name in _LAYER.items()
  }


def _read_nodes(checkpoint):
  """Returns the objects of a checkpoint as protocol buffers."""
  graph = checkpoint.read(_GRAPH)
  try:
    nodes = TrackableObjectGraph.FromString(graph).nodes
    nodes[0]  # the root
    for child in (child for node in nodes for child in node.children):
      nodes[child.node_id]
    return nodes
  except (DecodeError, IndexError, TypeError) as error:
    raise ValueError(
      f"{checkpoint.path}: {_GRAPH} cannot be read ({error}). Copy the files "
      "again."
    ) from error


def _activation(graph, directory):
  """Returns the activation that the functions of a SavedModel compute."""
  functions = graph.graph_def.library.function
  operations = {node.op for f in functions for node in f.node_def}
  names = {name for op, name in _ACTIVATION_OPS.items() if op in operations}
  if len(names) != 1:
    raise ValueError(
      f"{directory}: the activation must be one of "
      f"{', '.join(sorted({*_ACTIVATION_OPS.values()}))}. Its graph has "
      f"{' and '.join(sorted(names)) or 'none of them'}. {_USE_BERT}"
    )
  return names.pop()


def _vocabulary_path(graph, directory):
  """Returns the path of a SavedModel's vocab_file, None without one."""
  nodes, files = graph.object_graph_def.nodes, graph.asset_file_def
  try:
    for child in nodes[0].children:
      if child.local_name == "vocab_file":
        name = files[nodes[child.node_id].asset.asset_file_def_index].filename
        if not is_bare_name(name):
          raise IndexError(f"{name!r} is no name of a file")
        return os.path.join(directory, "assets", name)
  except IndexError as error:
    raise ValueError(
      f"{directory}: its vocab_file is none of its assets ({error}). Download "
      "it again."
    ) from error
  return None
