"""Encoders from stored tensors, and the original's TensorFlow 1 checkpoints."""

import dataclasses
import math
import os

import keras_hub
import numpy as np
import tensorflow as tf

from bert_span.modeling.architectures import ARCHITECTURES, architecture_of
from bert_span.modeling.encoder import (
  build_encoder,
  encoder_config,
  merged_weights,
)
from bert_span.modeling.keras_internals import set_value, without_values
from bert_span.options.fields import REQUIRED, check_option
from bert_span.presets.architectures import albert, mobilebert
from bert_span.presets.architectures.architecture_files import files_of
from bert_span.presets.vocabulary_files import load_vocabulary
from bert_span.storage.files import literal_checkpoint, read_json_object
from bert_span.storage.log import log_line
from bert_span.text.vocabulary import (
  SENTENCE_PIECES,
  WORD_PIECES,
  ExtendedVocabulary,
  WordPieces,
  extended,
  split_vocabulary,
  vocabulary_kind,
)

SAVED_MODEL_FILE = "saved_model.pb"
_HEAD_KERNEL = "cls/squad/output_weights"
_HEAD_BIAS = "cls/squad/output_bias"
USE_CONFIG = "Use the configuration file that came with these weights."


@dataclasses.dataclass(frozen=True)
class LoadedPreset:
  """An encoder, its trained heads, and what its source says about text."""

  backbone: keras_hub.models.Backbone
  # Trained heads: layer name ("span_head") -> weight name -> float array.
  head_weights: dict[str, dict[str, np.ndarray]] = dataclasses.field(
    default_factory=dict
  )
  vocabulary_path: str | None = None  # beside the weights
  lower_case: bool | None = None  # in training; None if that is not known
  # Arguments of `WordPieces`, if they are unusual. Of them, keeps_accents is
  # also used for an ALBERT's SentencePieces.
  word_rules: dict[str, bool] = dataclasses.field(default_factory=dict)
  # Pairs of an `AddedToken` and its id, see `extended`; None if the file of the
  # vocabulary lists the added tokens.
  added_tokens: list | None = None
  description: str = ""  # the source in words, for the log

  def __post_init__(self):
    tensors = {w.path: w.value for w in self.backbone.weights}
    for head, weights in self.head_weights.items():
      tensors |= {f"{head}/{name}": value for name, value in weights.items()}
    for name, values in tensors.items():
      if not tf.reduce_all(tf.math.is_finite(values)):
        raise ValueError(
          f"{self.description}: the weight {name} holds a number that is "
          "infinite or NaN. Use another copy of the model, or train it again."
        )

  def vocabulary(self, vocab_file=None):
    """Returns the preset's vocabulary, as `load_vocabulary` does.

    Args:
      vocab_file: path of another vocabulary that is read instead.

    Raises:
      ValueError: there is no vocabulary, or it does not fit the encoder.
    """
    path = vocab_file or self.vocabulary_path
    if not path:
      raise ValueError(
        f"{self.description} has no vocabulary (vocab.txt, tokenizer.json or "
        "sentencepiece.bpe.model). "
        "Put it beside the weights, or give its vocab_file."
      )
    name = architecture_of(self.backbone).name
    files = files_of(name)
    vocabulary = load_vocabulary(path, files.piece_family or name)
    base_vocabulary, added_tokens = split_vocabulary(vocabulary)
    kind = vocabulary_kind(base_vocabulary)
    if any(self.word_rules.values()) and kind == WORD_PIECES:
      base_vocabulary = WordPieces(base_vocabulary, **self.word_rules)
    # A tokenizer.json contains these rules, a SentencePiece model does not.
    if name == "albert" and kind == SENTENCE_PIECES and path.endswith(".model"):
      base_vocabulary = base_vocabulary.with_albert_rules(
        lower_case=self.lower_case is not False,
        keeps_accents=self.word_rules.get("keeps_accents", False),
      )
    rows = encoder_config(self.backbone).vocabulary_size
    if self.added_tokens is not None and not vocab_file:
      vocabulary = self._extended(base_vocabulary, rows)
    elif added_tokens:
      vocabulary = ExtendedVocabulary(base_vocabulary, added_tokens)
    else:
      vocabulary = base_vocabulary
    tokens = getattr(vocabulary, "tokens", vocabulary)
    if kind not in files.tokens:
      raise ValueError(
        f"{path} has {kind}, but the encoder, {name}, was trained with "
        f"{' or '.join(files.tokens)}. Use the vocabulary that belongs to it."
      )
    if not rows - files.padding_rows < len(tokens) <= rows:
      raise ValueError(
        f"{path} has {len(tokens)} {kind}, but the encoder, {name}, has {rows} "
        "embeddings. Use the vocabulary that belongs to it."
      )
    padding = files.padding_id
    if padding and tokens[padding] not in ("<pad>", "[PAD]"):
      raise ValueError(
        f"{path}: {name} counts positions from padding, whose id must be "
        f"{padding}. Received: {tokens[padding]!r}. Use the vocabulary that "
        "belongs to it."
      )
    return vocabulary

  def _extended(self, vocabulary, rows):
    """Returns a vocabulary with the added tokens that have embeddings."""
    with_embeddings = []
    for token, token_id in self.added_tokens:
      candidates = [*with_embeddings, (token, token_id)]
      tokens = extended(vocabulary, candidates, self.description).tokens
      if token_id is None and len(tokens) > rows:
        log_line(
          f"{self.description} names the token {token.content!r}, but has no "
          f"embedding for it among {rows}. In a text it is ordinary characters."
        )
      else:
        with_embeddings = candidates
    return extended(vocabulary, with_embeddings, self.description)


def read_bert_config(path):
  """Returns the `EncoderConfig` of the original's bert_config.json.

  As in its BertConfig, missing keys have defaults and unknown keys are ignored.
  A file with keys that only MobileBERT's or ALBERT's configuration has, such as
  an albert_config.json, describes such a model.
  """
  values = read_json_object(path)
  name = "bert"
  if not values.keys().isdisjoint(albert.ORIGINAL_KEYS):
    name = "albert"
  elif not values.keys().isdisjoint(mobilebert.ORIGINAL_KEYS):
    name = "mobilebert"
  if values.get("hidden_act") == "gelu":
    values["hidden_act"] = "gelu_new"  # What the original calls "gelu".
  return parse_config(name, values, path, files_of(name).keys)


def parse_config(architecture, values, path, keys):
  """Returns the `EncoderConfig` that a JSON object describes.

  Args:
    architecture: name in `ARCHITECTURES`.
    values: the JSON object, a dict.
    path: path of its file, for messages.
    keys: dict from fields of the config to keys of the object; a field that is
      missing is its own key.
  """
  config_type = ARCHITECTURES[architecture].config
  settings, key = {"architecture": architecture}, ""
  try:
    for field in dataclasses.fields(config_type):
      if field.name == "architecture":
        continue
      key = keys.get(field.name, field.name)
      value = values.get(key, field.default)
      if value is REQUIRED:
        raise ValueError(
          f"it is missing; the keys are {', '.join(sorted(values))}. Is it the "
          "configuration of an encoder?"
        )
      if value is None and field.name.endswith("dropout"):
        value = 0.0  # As the original's dropout().
      check_option(field, value)
      settings[field.name] = value
    key = "sizes"
    return config_type(**settings)
  except ValueError as error:
    raise ValueError(f"{path}: {key}: {error}. Correct it.") from error


def original_weights(config):
  """Returns the original's names and shapes of an encoder's weights.

  Args:
    config: `EncoderConfig`.

  Returns:
    A dict from each weight's path in the backbone to a pair: its name in the
    original, without "bert/", and its shape there.
  """
  names = files_of(config.architecture).original_weight_names(config)
  weights = unfilled_encoder(config).weights
  return {w.path: (names[w.path], flat_shape(w.path, w.shape)) for w in weights}


def original_tensors(backbone):
  """Returns a backbone's weights as the original's checkpoints have them.

  It is a dict from the original's names, without "bert/", to float32 arrays.
  """
  config = encoder_config(backbone)
  names = files_of(config.architecture).original_weight_names(config)
  return {names[path]: value for path, value in flat_tensors(backbone).items()}


def flat_tensors(backbone):
  """Returns a backbone's weights, in their `flat_shape`, by their paths.

  They are float32 arrays.
  """
  return {
    weight.path: value.astype("float32").reshape(
      flat_shape(weight.path, weight.shape)
    )
    for weight, value in merged_weights(backbone)
  }


def flat_shape(path, shape):
  """Returns the shape of a weight with all attention heads in one axis.

  A kernel is [inputs, outputs] and a bias [outputs], as in the files of other
  packages.

  Args:
    path: of the weight in the backbone.
    shape: of the weight in the backbone.
  """
  shape = tuple(shape)
  if path.endswith("attention_output/kernel"):  # [heads, size, hidden]
    return math.prod(shape[:-1]), shape[-1]
  if path.endswith("/kernel"):  # [hidden, heads, size] or a matrix
    return shape[0], math.prod(shape[1:])
  return (math.prod(shape),) if path.endswith("/bias") else shape


def unfilled_encoder(config):
  """Builds an encoder whose weights take no memory before `initialize`."""
  with without_values():
    # KerasHub's deviation, so that there are no values to scale.
    return build_encoder(dataclasses.replace(config, initializer_range=0.02))


def initialize(backbone, value_of):
  """Sets the values of the variables of an `unfilled_encoder`.

  Args:
    backbone: the encoder.
    value_of: function from a weight to its value; None for a random value.
  """
  weights = {id(weight) for weight in backbone.weights}
  for variable in backbone.variables:  # Seeds of dropout are no weights.
    value = value_of(variable) if id(variable) in weights else None
    set_value(variable, value)


def check_read_back(saved, values_read, path):
  """Refuses a file that was just written if its values are not those saved.

  Args:
    saved: pairs of weights and the values that were saved.
    values_read: dict from the weights' paths to arrays or variables.
    path: path of the file, for the message.
  """
  for weight, value in saved:
    reason = None
    if not np.all(np.isfinite(value)):
      reason = "holds a number that is infinite or NaN: train it again"
    elif not np.array_equal(value, values_read.get(weight.path)):
      reason = "has another value in the file than was written: check the disk"
    if reason:
      raise ValueError(
        f"{os.path.basename(path)} is not written. The weight {weight.path} "
        f"{reason}."
      )


def load_encoder(config, weight_names, shapes, read, source):
  """Builds the encoder of a config and fills it with stored tensors.

  Args:
    config: `EncoderConfig`.
    weight_names: function from an `EncoderConfig` to a dict from the paths of
      its weights to the names of stored tensors.
    shapes: dict from the names of the stored tensors to their shapes, in the
      layout of `flat_shape`.
    read: function from a name to its tensor, in the same layout.
    source: the file or directory, for messages.

  Raises:
    ValueError: tensors are missing (other than the pooler's), have other
      shapes, or belong to more layers.
  """
  names = weight_names(config)
  missing_names = [name for name in names.values() if name not in shapes]
  required_names = [name for name in missing_names if "pooler" not in name]
  if required_names:
    raise ValueError(
      f"{source} lacks {abridged(required_names)} of the configuration's "
      f"encoder. It holds {abridged(sorted(shapes))}. {USE_CONFIG}"
    )
  deeper_names = {*weight_names(config.deeper()).values()} - {*names.values()}
  if deeper_names := deeper_names & shapes.keys():
    raise ValueError(
      f"{source} holds more layers than the configuration: "
      f"{abridged(sorted(deeper_names))}. {USE_CONFIG}"
    )
  backbone = unfilled_encoder(config)
  for weight in backbone.weights:
    name = names[weight.path]
    shape = flat_shape(weight.path, weight.shape)
    if name in shapes and tuple(shapes[name]) != shape:
      raise ValueError(
        f"{source}: {name} has shape {list(shapes[name])}, but the "
        f"configuration asks for {list(shape)}. {USE_CONFIG}"
      )
  if missing_names:
    log_line(f"{source} has no pooler; it gets random, unused weights.")

  def value_of(weight):
    name = names[weight.path]
    if name not in shapes:
      return None
    return np.asarray(read(name), np.float32).reshape(weight.shape)

  initialize(backbone, value_of)
  return backbone


class CheckpointReader:
  """The variables of a TensorFlow checkpoint.

  Args:
    path: prefix such as .../bert_model.ckpt; or a SavedModel, which has one; or
      a folder whose file `checkpoint` names the latest.

  Attributes:
    shapes: dict of the variables' names, or keys, to their shapes.
  """

  def __init__(self, path):
    self.path = path
    for ending in (".index", ".meta", ".data-00000-of-00001"):
      if path.endswith(ending):
        raise ValueError(
          "init_checkpoint must be the common prefix of a checkpoint's files: "
          f"{path[: -len(ending)]}. Received: {path}"
        )
    if path.endswith((".bin", ".pt", ".pth", ".pkl", ".safetensors")):
      raise ValueError(
        "init_checkpoint must be a TensorFlow checkpoint. Give the directory "
        f"of Hugging Face's files as `preset`. Received: {path}"
      )
    if tf.io.gfile.exists(os.path.join(path, SAVED_MODEL_FILE)):
      path = os.path.join(path, "variables", "variables")
    try:
      self._reader = tf.train.load_checkpoint(literal_checkpoint(path))
    except (ValueError, RuntimeError, tf.errors.OpError) as error:
      raise ValueError(
        f"Cannot read the checkpoint {path}: {error} Its files should be "
        f"{path}.index and {path}.data-00000-of-00001."
      ) from error
    self.shapes = self._reader.get_variable_to_shape_map()

  def read(self, name):
    """Reads a variable as an array."""
    try:
      return self._reader.get_tensor(name)
    except (ValueError, LookupError, RuntimeError, tf.errors.OpError) as error:
      raise ValueError(
        f"{self.path}: {name} cannot be read ({error}). Copy the files again."
      ) from error


def find_checkpoint(local, directory):
  """Returns the path prefix of the checkpoint in a folder, None without one.

  Of several checkpoints it is the latest.

  Args:
    local: the local folder.
    directory: name of the folder for messages.

  Raises:
    ValueError: no file says which of several checkpoints is the latest.
  """
  files = sorted(os.listdir(local))
  prefixes = [n.removesuffix(".index") for n in files if n.endswith(".index")]
  if not prefixes:
    return None
  prefix = prefixes[0]
  if len(prefixes) > 1:
    prefix = os.path.basename(tf.train.latest_checkpoint(local) or "")
  if prefix not in prefixes:
    raise ValueError(
      f"{directory} has several checkpoints: {', '.join(prefixes)}. Give one "
      "as init_checkpoint, with its bert_config_file."
    )
  return os.path.join(local, prefix)


def load_tf1_checkpoint(config, checkpoint):
  """Loads a checkpoint of the original as a `LoadedPreset`.

  Args:
    config: `EncoderConfig`.
    checkpoint: path prefix, such as .../bert_model.ckpt.
  """
  reader = CheckpointReader(checkpoint)
  shapes = reader.shapes
  head = {}
  if _HEAD_KERNEL in shapes:
    if shapes[_HEAD_KERNEL] != [2, config.hidden_dim]:
      raise ValueError(
        f"{checkpoint}: {_HEAD_KERNEL} must have the shape "
        f"[2, {config.hidden_dim}]. Received: {shapes[_HEAD_KERNEL]}"
      )
    head["kernel"] = reader.read(_HEAD_KERNEL).T  # [hidden, 2]
    if _HEAD_BIAS in shapes:
      head["bias"] = reader.read(_HEAD_BIAS)

  def weight_names(config):
    names = files_of(config.architecture).original_weight_names(config)
    return {path: f"bert/{name}" for path, name in names.items()}

  return LoadedPreset(
    load_encoder(config, weight_names, shapes, reader.read, checkpoint),
    {"span_head": head} if head else {},
    description=f"the TensorFlow 1 checkpoint {checkpoint}",
  )


def abridged(names, most=5):
  """Returns the first few names of a list, and how many more there are."""
  text = ", ".join(names[:most]) or "no tensors"
  return f"{text} and {len(names) - most} more" if len(names) > most else text
