"""A trained model as files: a KerasHub preset with its task.

KerasHub reads encoder and tokenizer from it without this package.
"""

import io
import os
import zipfile

import h5py
import keras
import numpy as np

from bert_span.modeling import encoder
from bert_span.modeling.architectures import ARCHITECTURES, architecture_of
from bert_span.modeling.encoder import merged_weights
from bert_span.modeling.heads import weights_by_name
from bert_span.modeling.keras_internals import (
  preset_file,
  task_weights_content,
  weights_content,
  write_preset_config,
)
from bert_span.presets import span_config
from bert_span.presets.architectures.architecture_files import (
  all_files,
  files_of,
)
from bert_span.presets.encoder_weights import (
  check_read_back,
  initialize,
  parse_config,
  unfilled_encoder,
)
from bert_span.presets.model_card import write_hub_card
from bert_span.presets.selection import SELECTION_FILE, write_selection
from bert_span.presets.tokenizer_json import (
  added_token_objects,
  json_of_modernbert_pairs,
)
from bert_span.presets.tokenizer_keys import added_tokens_of_json
from bert_span.presets.vocabulary_files import load_vocabulary
from bert_span.storage.atomic_file import (
  replaced_directory,
  write_bytes,
  write_json_atomically,
  write_lines,
)
from bert_span.storage.files import (
  checked_object,
  file_sha256,
  is_bare_name,
  is_remote,
  read_json_object,
)
from bert_span.text.vocabulary import (
  BYTE_PAIRS,
  MODERNBERT_PAIRS,
  SENTENCE_PIECES,
  WORD_PIECES,
  WordPieces,
  split_vocabulary,
  vocabulary_kind,
)

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.weights.h5"
HEAD_FILE = "task.weights.h5"
TOKENIZER_FILE = "tokenizer.json"
VOCABULARY_FILE = "assets/tokenizer/vocabulary.txt"
_PAIRS_FILE = "assets/tokenizer/vocabulary.json"  # of RoBERTa
_MERGES_FILE = "assets/tokenizer/merges.txt"
_PIECES_FILE = "assets/tokenizer/vocabulary.spm"  # a SentencePiece model
_JSON_FILE = "assets/tokenizer/tokenizer.json"  # of ModernBERT
_ADDED_FILE = "assets/tokenizer/added_tokens.json"  # beside the first three
_VOCABULARY_FILES = (VOCABULARY_FILE, _PAIRS_FILE, _PIECES_FILE, _JSON_FILE)
_KINDS = {
  "vocabulary.txt": WORD_PIECES,
  "vocabulary.json": BYTE_PAIRS,
  "vocabulary.spm": SENTENCE_PIECES,
  "tokenizer.json": MODERNBERT_PAIRS,
}
# Their models' types in tokenizer.json of the tokenizers library.
_MODEL_TYPES = {
  WORD_PIECES: "WordPiece",
  BYTE_PAIRS: "BPE",
  SENTENCE_PIECES: "Unigram",
}
_TOKENIZER_FILES = (
  *(TOKENIZER_FILE, *_VOCABULARY_FILES, _MERGES_FILE, _ADDED_FILE),
)
CHECKSUMS_FILE = "checksums.json"
_MODEL_FILES = {
  *(CONFIG_FILE, WEIGHTS_FILE, HEAD_FILE, CHECKSUMS_FILE, "metadata.json"),
  *(span_config.TASK_FILE, span_config.PREPROCESSOR_FILE, SELECTION_FILE),
  *_TOKENIZER_FILES,
}
_KERAS_CONFIG = "config.json"  # of a .keras file
# What writes the files of an ending.
_WRITERS = {
  ".keras": "Write the file with extractor.save",
  ".tflite": "Write the file with extractor.export or export_tflite.py",
  ".onnx": "See docs/integrations.md, ONNX",
  ".h5": "Write the file with extractor.save_weights",
}
# Settings of KerasHub's tokenizers, and the values that give the tokens that
# are computed here; None for a missing one.
_TOKENIZER_VALUES = {
  "split": (None, True),
  "suffix_indicator": (None, "##"),
  "oov_token": (None, "[UNK]"),
  "add_prefix_space": (None, False),
}
# The object in config.json of what KerasHub's configuration lacks.
_OWN_KEY = "bert_span"
_OWN_FIELDS = "attention_dropout", "activation", "layer_norm_epsilon"
# Only larger weights, tables of tokens, are packed: reading them takes longer.
_PACKED_SIZE = 2**22


def save_model(extractor, directory, selection=None, half_precision=False):
  """Writes an extractor as a directory, see `Extractor.save_to_preset`."""
  directory = os.fspath(directory)
  check_folder_name(directory)
  if not is_remote(directory):
    directory = os.path.realpath(directory)
    is_empty = os.path.isdir(directory) and not os.listdir(directory)
    if os.path.lexists(directory) and not is_empty:
      _check_is_model(directory)
  tokenizer = extractor.preprocessor.tokenizer
  with replaced_directory(
    directory,
    last=[span_config.TASK_FILE, SELECTION_FILE],
    keeps=lambda name: name not in _MODEL_FILES,
  ) as unfinished:
    save_backbone(extractor.backbone, unfinished, half_precision)
    if extractor.head_is_trained:
      save_head(extractor, unfinished)
    save_tokenizer(
      unfinished,
      tokenizer.full_vocabulary,
      tokenizer.do_lower_case,
      architecture_of(extractor.backbone),
    )
    write_checksums(unfinished)
    write_selection(unfinished, selection)
    write_hub_card(unfinished, directory, extractor)
    span_config.write_task_files(extractor, unfinished)


def _check_is_model(directory):
  """Refuses to replace anything but a model of this package."""
  is_folder = os.path.isdir(directory)
  if not is_folder or span_config.read_span_config(directory) is None:
    raise ValueError(
      f"{directory} is not replaced: it has no {span_config.TASK_FILE} of "
      "bert_span, so it is no model of it. Save the model in a new directory."
    )


def write_keras_folder(path, content):
  """Writes the bytes of a .keras file as a folder, whole or not at all."""
  is_model = os.path.isfile(os.path.join(path, _KERAS_CONFIG))
  if os.path.lexists(path) and not is_model:
    raise ValueError(
      f"{path} is not replaced: it is no folder of a Keras model. Give another "
      "path."
    )
  with zipfile.ZipFile(io.BytesIO(content)) as archive:
    names = {*archive.namelist()}
    with replaced_directory(
      path, last=[_KERAS_CONFIG], keeps=lambda name: name not in names
    ) as unfinished:
      archive.extractall(unfinished)


def save_backbone(backbone, directory, half_precision=False):
  """Writes an encoder of `build_encoder` into a local directory."""
  if backbone.variable_dtype == "bfloat16":  # HDF5 has no such numbers.
    raise ValueError(
      'A model in bfloat16 is not saved. Load it with dtype="float32".'
    )
  weights = merged_weights(backbone)  # None of them is quantized.
  write_preset_config(backbone, directory)
  path = os.path.join(directory, CONFIG_FILE)
  config = encoder.encoder_config(backbone)
  own = {name: getattr(config, name) for name in _OWN_FIELDS}
  write_json_atomically(path, {**read_json_object(path), _OWN_KEY: own})
  path = os.path.join(directory, WEIGHTS_FILE)
  write_bytes(path, weights_content(backbone))
  if half_precision:
    halve_weights(path)
    halves = [(weight, value.astype(np.float16)) for weight, value in weights]
    weights = [(weight, half.astype(np.float32)) for weight, half in halves]
  read = load_backbone(directory).weights
  check_read_back(weights, {w.path: w.numpy() for w in read}, path)


def save_head(extractor, directory):
  """Writes the head of an extractor into a local directory."""
  head = extractor.head
  if not head.name.endswith("_head"):
    raise ValueError(
      f'The name of a head must end in "_head". Received: {head.name!r}'
    )
  path = os.path.join(directory, HEAD_FILE)
  write_bytes(path, task_weights_content(extractor))
  stored = _read_heads(path).get(head.name, {})
  names = {w.path: name for name, w in weights_by_name(head).items()}
  read = {path: stored.get(name) for path, name in names.items()}
  check_read_back(merged_weights(head), read, path)


def halve_weights(path):
  """Replaces a local .weights.h5 file by one with float16 for float32."""
  largest = np.finfo(np.float16).max
  content = io.BytesIO()  # As in `weights_content`.
  with h5py.File(path) as source, h5py.File(content, "w") as target:

    def copy(name, item):
      if not isinstance(item, h5py.Dataset):
        target.require_group(name).attrs.update(item.attrs)
        return
      values = item[()]
      if values.dtype == np.float32:
        if not np.all(np.abs(values) <= largest):
          raise ValueError(
            f"The weight {name} has values beyond {largest}, which float16 "
            "cannot hold. Save the model in float32."
          )
        values = values.astype(np.float16)
      packing = {}
      if values.size > _PACKED_SIZE:
        packing = {"compression": "gzip", "shuffle": True}
        packing["chunks"] = values.shape  # one piece: smaller and faster
      copied = target.create_dataset(name, data=values, **packing)
      copied.attrs.update(item.attrs)

    target.attrs.update(source.attrs)
    source.visititems(copy)
  write_bytes(path, content.getvalue())


def save_tokenizer(
  directory, vocabulary, do_lower_case, architecture=ARCHITECTURES["bert"]
):
  """Writes tokenizer.json and the vocabulary, as `load_vocabulary` has it."""
  path = os.path.join(directory, VOCABULARY_FILE)
  os.makedirs(os.path.dirname(path), exist_ok=True)
  kind, files = vocabulary_kind(vocabulary), files_of(architecture.name)
  whole = vocabulary
  vocabulary, added = split_vocabulary(vocabulary)
  if added and kind != MODERNBERT_PAIRS:
    objects = {"added_tokens": added_token_objects(whole)}
    write_json_atomically(os.path.join(directory, _ADDED_FILE), objects)
  # Given a vocabulary, KerasHub would refuse one without [MASK].
  if kind == SENTENCE_PIECES:
    write_bytes(os.path.join(directory, _PIECES_FILE), vocabulary.proto)
    tokenizer_class = files_of(vocabulary.family).keras_tokenizer
    if not tokenizer_class:
      return
    tokenizer = tokenizer_class(None)
  elif kind == MODERNBERT_PAIRS:
    values = json_of_modernbert_pairs(whole)
    write_json_atomically(os.path.join(directory, _JSON_FILE), values)
    return
  elif kind == BYTE_PAIRS:
    tokens, merges = vocabulary
    ids = {token: i for i, token in enumerate(tokens)}
    write_json_atomically(os.path.join(directory, _PAIRS_FILE), ids)
    write_lines(os.path.join(directory, _MERGES_FILE), merges)
    tokenizer = files.keras_tokenizer(None, None)
  else:
    keeps_accents = getattr(vocabulary, "keeps_accents", False)
    strips_accents = do_lower_case and not keeps_accents
    write_lines(path, getattr(vocabulary, "tokens", vocabulary))
    files = files if files.tokens[0] == WORD_PIECES else files_of("bert")
    tokenizer = files.keras_tokenizer(
      None, lowercase=do_lower_case, strip_accents=strips_accents
    )
  settings = keras.saving.serialize_keras_object(tokenizer)
  settings.pop("build_config", None)  # as KerasHub's save_to_preset
  if isinstance(vocabulary, WordPieces):
    # KerasHub reads this key, and does not write it.
    settings["config"]["split_on_cjk"] = not vocabulary.joins_chinese
    settings[_OWN_KEY] = {"keeps_accents": vocabulary.keeps_accents}
  write_json_atomically(os.path.join(directory, TOKENIZER_FILE), settings)


def write_checksums(directory):
  """Writes checksums.json: the SHA-256 of the model's files."""
  names = [CONFIG_FILE, WEIGHTS_FILE, HEAD_FILE, *_TOKENIZER_FILES]
  names = [n for n in names if os.path.exists(os.path.join(directory, n))]
  write_json_atomically(
    os.path.join(directory, CHECKSUMS_FILE),
    {name: file_sha256(os.path.join(directory, name)) for name in names},
  )


def check_checksums(directory):
  """Refuses a local directory whose files differ from its checksums.json."""
  path = os.path.join(directory, CHECKSUMS_FILE)
  if not os.path.exists(path):
    return  # As in a preset of KerasHub.
  for name, expected in read_json_object(path).items():
    if not all(map(is_bare_name, name.split("/"))):
      raise ValueError(
        f"{path} names {name!r}, which is no file of the model. Copy the model "
        "again."
      )
    file = os.path.join(directory, name)
    if not os.path.isfile(file) or file_sha256(file) != expected:
      raise ValueError(
        f"{file} is missing or differs from its SHA-256 in {path}. Copy the "
        "model again, or give verify=False if the file was changed on purpose."
      )


def check_folder_name(path):
  """Refuses a path for a folder that ends like the name of a file."""
  ending = os.path.splitext(os.fspath(path).rstrip("/"))[1].lower()
  if ending in _WRITERS:
    raise ValueError(
      f"{path} would be a folder with the name of a file. {_WRITERS[ending]}, "
      f"or give a name without {ending}."
    )


def load_backbone(directory):
  """The backbone of a local KerasHub preset directory."""
  path = os.path.join(directory, CONFIG_FILE)
  values = read_json_object(path)
  name = values.get("registered_name")
  # KerasHub registers its classes also by the names of KerasNLP.
  kind = keras.saving.get_registered_object(str(name))  # It may be a list.
  architectures = {each.backbone: each for each in ARCHITECTURES.values()}
  architecture = architectures.get(kind)
  if architecture is None:
    names = map(keras.saving.get_registered_name, architectures)
    raise ValueError(
      f"{path}: registered_name must be one of {', '.join(names)}. Received: "
      f"{name}. Use another model."
    )
  settings = values.get("config")
  if not isinstance(settings, dict):
    raise ValueError(f'{path} lacks the object "config". Save the model again.')
  settings = {
    "attention_dropout": settings.get("dropout", 0.1),
    "activation": architecture.activation,
    "layer_norm_epsilon": architecture.layer_norm_epsilon,
    **settings,
    # It has functions, such as activations, by their names here.
    **checked_object(values.get(_OWN_KEY, {}), f"{path}, {_OWN_KEY}"),
  }
  config = parse_config(
    architecture.name, settings, path, architecture.arguments
  )
  weights_path = os.path.join(directory, WEIGHTS_FILE)
  try:
    # Before memory is taken for them. Keras does not notice layers that only
    # the file has.
    found = _count_numbers(weights_path)
    backbone = unfilled_encoder(config)
    expected = backbone.count_params()
    if found != expected:
      raise ValueError(
        f"it holds {found:,} floating-point numbers, the encoder {expected:,}"
      )
    initialize(backbone, lambda weight: np.zeros(weight.shape, np.float32))
    backbone.load_weights(weights_path)
  # h5py and Keras raise many types for damaged files.
  except Exception as error:
    raise ValueError(
      f"Cannot load {weights_path} into the encoder of {path}: {error}. Use "
      "the files of one model."
    ) from error
  return backbone


def _count_numbers(weights_path):
  """The floating-point numbers in a .weights.h5 file."""
  items = []
  with h5py.File(weights_path) as file:
    file.visititems(lambda _, item: items.append(item))
    arrays = [item for item in items if isinstance(item, h5py.Dataset)]
    return sum(array.size for array in arrays if array.dtype.kind == "f")


def read_heads(directory):
  """The trained heads in a local directory, as `LoadedPreset` has them."""
  config = span_config.read_span_config(directory)
  path = os.path.join(directory, HEAD_FILE)
  if config is None or not config["head_is_trained"]:
    return {}
  if not os.path.exists(path):
    raise ValueError(
      f"{path} is missing, the weights of the trained head. Copy the model "
      "again."
    )
  return _read_heads(path)


def _read_heads(path):
  """The weights of heads in a task.weights.h5: by name of the layer."""
  heads = {}
  try:
    with h5py.File(path) as file:
      for layer in file["layers"].values():
        weights = {key: value[()] for key, value in layer["vars"].items()}
        if weights:
          heads[layer["vars"].attrs["name"]] = weights
  # h5py raises many types for damaged files.
  except Exception as error:
    raise ValueError(
      f"Cannot read {path}: {error}. Copy the model again."
    ) from error
  return heads


def find_tokenizer(preset, backbone):
  """The path of the vocabulary, and what else is said about the tokenizer.

  Returns:
    vocabulary_path, lower_case, word_rules and added_tokens of `LoadedPreset`.
  """
  paths = (preset_file(preset, name) for name in _VOCABULARY_FILES)
  vocabulary = next(filter(None, paths), None)
  if vocabulary is None:
    return None, None, {}, None
  kind = _KINDS[os.path.basename(vocabulary)]
  path = preset_file(preset, TOKENIZER_FILE)
  lower_case, word_rules = None, {}
  if path:
    lower_case, word_rules = _read_tokenizer(path, kind, backbone)
  if kind == SENTENCE_PIECES and architecture_of(backbone).name == "albert":
    rules = load_vocabulary(vocabulary, "albert").albert_rules
    lower_case = rules["do_lower_case"]
  elif kind != WORD_PIECES:
    lower_case = False
  added, path = None, preset_file(preset, _ADDED_FILE)
  if path and kind in _MODEL_TYPES:
    values = read_json_object(path)
    added = added_tokens_of_json(values, _MODEL_TYPES[kind], path)
  return vocabulary, lower_case, word_rules, added


def _read_tokenizer(path, kind, backbone):
  """Whether a tokenizer.json of KerasHub lower-cases, and word_rules."""
  values = read_json_object(path)
  own = files_of(architecture_of(backbone).name)
  name = values.get("registered_name")
  accepted = [
    files.keras_tokenizer
    for files in all_files().values()
    if files.tokens[0] == kind
    and (kind != SENTENCE_PIECES or files.piece_family == own.piece_family)
  ]
  found = keras.saving.get_registered_object(str(name))
  if not found or found not in accepted:
    raise ValueError(
      f"{path}: registered_name must be a tokenizer of {kind} for "
      f"{own.class_name}. Received: {name}. Use the files of one model."
    )
  settings = checked_object(values.get("config"), f"{path}, config")
  lower_case = settings.get("lowercase")
  if not isinstance(lower_case, bool | None):
    raise ValueError(
      f"{path}: lowercase must be true or false. Received: {lower_case!r}."
    )
  # Accents are removed where letters are lower-cased, unless this package says
  # otherwise: KerasHub's presets keep them by this file, but have the weights
  # of models that lost them.
  accepted = {"strip_accents": (None, False)} if not lower_case else {}
  for key, choices in (_TOKENIZER_VALUES | accepted).items():
    if settings.get(key) not in choices:
      raise ValueError(
        f"{path}: {key} must be {choices[1]!r}; other values give other tokens."
        f" Received: {settings[key]!r}. Use another model."
      )
  about = checked_object(values.get(_OWN_KEY, {}), f"{path}, {_OWN_KEY}")
  return lower_case, {
    "keeps_accents": about.get("keeps_accents") is True,
    "joins_chinese": settings.get("split_on_cjk") is False,
  }
