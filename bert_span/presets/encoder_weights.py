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
  WordPieces,
  vocabulary_kind,
)

_HEAD_KERNEL = "cls/squad/output_weights"
_HEAD_BIAS = "cls/squad/output_bias"
_USE_CONFIG = "Use the configuration file that came with these weights."


@dataclasses.dataclass(frozen=True)
class LoadedPreset:
  """An encoder of a source, its trained heads, and what it says about text."""

  backbone: keras_hub.models.Backbone
  # Of trained heads: layer name ("span_head") -> weight name -> float array.
  head_weights: dict[str, dict[str, np.ndarray]] = dataclasses.field(
    default_factory=dict
  )
  vocabulary_path: str | None = None  # beside the weights
  lower_case: bool | None = None  # in training; None if that is not known
  # Arguments of `WordPieces`, if they are unusual. An ALBERT's SentencePieces
  # may keep accents, too.
  word_rules: dict[str, bool] = dataclasses.field(default_factory=dict)
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
    """Its vocabulary, or that of another file, as `load_vocabulary` has it."""
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
    tokens = getattr(vocabulary, "tokens", vocabulary)
    rows = encoder_config(self.backbone).vocabulary_size
    kind = vocabulary_kind(vocabulary)
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
    if any(self.word_rules.values()) and kind == WORD_PIECES:
      return WordPieces(vocabulary, **self.word_rules)
    # A tokenizer.json says it itself.
    if name == "albert" and kind == SENTENCE_PIECES and path.endswith(".model"):
      lower_case, rules = self.lower_case is not False, self.word_rules
      keeps_accents = rules.get("keeps_accents", False)
      return vocabulary.with_albert_rules(lower_case, keeps_accents)
    return vocabulary


def read_bert_config(path):
  """Returns the `EncoderConfig` of the original's bert_config.json.

  As in its BertConfig, missing keys have defaults and unknown ones are ignored.
  A file with keys of MobileBERT's BertConfig describes a MobileBERT, and one
  with keys of AlbertConfig, an albert_config.json, an ALBERT.
  """
  values = read_json_object(path)
  own = {"albert": albert.ORIGINAL_KEYS, "mobilebert": mobilebert.ORIGINAL_KEYS}
  found = (name for name, keys in own.items() if values.keys() & {*keys})
  name = next(found, "bert")
  if values.get("hidden_act") == "gelu":
    values["hidden_act"] = "gelu_new"  # What the original calls "gelu".
  return parse_config(name, values, path, files_of(name).keys)


def parse_config(architecture, values, path, keys):
  """Returns the `EncoderConfig` of a JSON object; keys: its names by field."""
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
  """The original's names and shapes of all weights of an `EncoderConfig`.

  Returns a dict from each weight's path in the backbone to (name without
  "bert/", shape).
  """
  names = files_of(config.architecture).original_weights(config)
  weights = unfilled_encoder(config).weights
  return {w.path: (names[w.path], flat_shape(w)) for w in weights}


def original_tensors(backbone):
  """The weights as float32 arrays in the original's layout, by its names."""
  config = encoder_config(backbone)
  names = files_of(config.architecture).original_weights(config)
  return {names[path]: value for path, value in flat_tensors(backbone).items()}


def flat_tensors(backbone):
  """The weights of a backbone as float32 arrays, by their paths, see below."""
  return {
    weight.path: value.astype("float32").reshape(flat_shape(weight))
    for weight, value in merged_weights(backbone)
  }


def flat_shape(weight):
  """The shape of a weight with all heads in one axis.

  A kernel is [inputs, outputs] and a bias [outputs], as in others' files.
  """
  shape = tuple(weight.shape)
  if weight.path.endswith("attention_output/kernel"):  # [heads, size, hidden]
    return math.prod(shape[:-1]), shape[-1]
  if weight.path.endswith("/kernel"):  # [hidden, heads, size] or a matrix
    return shape[0], math.prod(shape[1:])
  return (math.prod(shape),) if weight.path.endswith("/bias") else shape


def unfilled_encoder(config):
  """Builds the encoder of a config, whose weights take no memory yet.

  `set_value` gives each of them its value.
  """
  with without_values():
    # What is random is not scaled.
    return build_encoder(dataclasses.replace(config, initializer_range=0.02))


def initialize(backbone, read):
  """Gives the variables of an `unfilled_encoder` their values.

  Args:
    backbone: the encoder.
    read: function of a weight to its value, or None for a random one.
  """
  weights = {id(weight) for weight in backbone.weights}
  for variable in backbone.variables:  # Seeds of dropout are no weights.
    value = read(variable) if id(variable) in weights else None
    set_value(variable, value)


def check_read_back(saved, read, path):
  """Refuses a file that was just written and does not give the weights back.

  Args:
    saved: pairs of weights and the values that were saved.
    read: dict of the values that were read, by the weights' paths or names.
    path: of the file, for the message.
  """
  for weight, value in saved:
    reason = None
    if not np.all(np.isfinite(value)):
      reason = "holds a number that is infinite or NaN: train it again"
    elif not np.array_equal(value, read.get(weight.path)):
      reason = "is read back otherwise than it was written: check the disk"
    if reason:
      raise ValueError(
        f"{os.path.basename(path)} is not written. The weight {weight.path} "
        f"{reason}."
      )


def load_encoder(config, names, shapes, read, source):
  """Builds the encoder of a config and fills it with stored tensors.

  Args:
    config: `EncoderConfig`.
    names: function of an `EncoderConfig` to a dict from paths of weights to the
      names that they are stored under.
    shapes: dict from the names of the stored tensors to their shapes.
    read: function of a name to its tensor. Both have the layout of
      `flat_shape`.
    source: the file or directory, for messages.

  Raises:
    ValueError: tensors are missing (other than the pooler's), have other
      shapes, or are those of more layers.
  """
  stored = names(config)
  missing = [name for name in stored.values() if name not in shapes]
  encoder = [name for name in missing if "pooler" not in name]
  if encoder:
    raise ValueError(
      f"{source} lacks {_abridged(encoder)} of the configuration's encoder. It "
      f"holds {_abridged(sorted(shapes))}. {_USE_CONFIG}"
    )
  deeper = {*names(config.deeper()).values()} - {*stored.values()}
  if deeper & shapes.keys():
    raise ValueError(
      f"{source} holds more layers than the configuration: "
      f"{_abridged(sorted(deeper & shapes.keys()))}. {_USE_CONFIG}"
    )
  backbone = unfilled_encoder(config)
  for weight in backbone.weights:
    name, shape = stored[weight.path], flat_shape(weight)
    if name in shapes and tuple(shapes[name]) != shape:
      raise ValueError(
        f"{source}: {name} has shape {list(shapes[name])}, but the "
        f"configuration asks for {list(shape)}. {_USE_CONFIG}"
      )
  if missing:
    log_line(f"{source} has no pooler; it gets random, unused weights.")

  def value(weight):
    name = stored[weight.path]
    if name not in shapes:
      return None
    return np.asarray(read(name), np.float32).reshape(weight.shape)

  initialize(backbone, value)
  return backbone


def load_tf1_checkpoint(config, checkpoint):
  """Loads a path prefix such as .../bert_model.ckpt as a `LoadedPreset`."""
  for ending in (".index", ".meta", ".data-00000-of-00001"):
    if checkpoint.endswith(ending):
      raise ValueError(
        "init_checkpoint must be the common prefix of a checkpoint's files: "
        f"{checkpoint[: -len(ending)]}. Received: {checkpoint}"
      )
  if checkpoint.endswith((".bin", ".pt", ".pth", ".pkl", ".safetensors")):
    raise ValueError(
      "init_checkpoint must be a TensorFlow 1 checkpoint. Give the directory "
      f"of Hugging Face's files as `preset`. Received: {checkpoint}"
    )
  try:
    reader = tf.train.load_checkpoint(literal_checkpoint(checkpoint))
  except (ValueError, RuntimeError, tf.errors.OpError) as error:
    raise ValueError(
      f"Cannot read the checkpoint {checkpoint}: {error} Its files should be "
      f"{checkpoint}.index and {checkpoint}.data-00000-of-00001."
    ) from error
  shapes = reader.get_variable_to_shape_map()
  if "_CHECKPOINTABLE_OBJECT_GRAPH" in shapes:
    raise ValueError(
      f"{checkpoint} is a TensorFlow 2 object checkpoint. Give one of the "
      "original code, with names such as bert/embeddings/word_embeddings."
    )
  head = {}
  if _HEAD_KERNEL in shapes:
    if shapes[_HEAD_KERNEL] != [2, config.hidden_dim]:
      raise ValueError(
        f"{checkpoint}: {_HEAD_KERNEL} must have the shape "
        f"[2, {config.hidden_dim}]. Received: {shapes[_HEAD_KERNEL]}"
      )
    head["kernel"] = reader.get_tensor(_HEAD_KERNEL).T  # [hidden, 2]
    if _HEAD_BIAS in shapes:
      head["bias"] = reader.get_tensor(_HEAD_BIAS)

  def names(config):
    weights = files_of(config.architecture).original_weights(config)
    return {path: f"bert/{name}" for path, name in weights.items()}

  return LoadedPreset(
    load_encoder(config, names, shapes, reader.get_tensor, checkpoint),
    {"span_head": head} if head else {},
    description=f"the TensorFlow 1 checkpoint {checkpoint}",
  )


def _abridged(names, most=5):
  """A list in words, cut to its first few entries."""
  text = ", ".join(names[:most]) or "no tensors"
  return f"{text} and {len(names) - most} more" if len(names) > most else text
