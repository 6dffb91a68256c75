"""The tokenizer's files in a Hugging Face directory."""

import os

from bert_span.modeling.architectures import architecture_of
from bert_span.modeling.keras_internals import preset_file
from bert_span.presets.architectures.architecture_files import files_of
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
from bert_span.storage.atomic_file import (
  write_bytes,
  write_json_atomically,
  write_lines,
)
from bert_span.storage.files import read_bytes, read_json_object
from bert_span.storage.log import log_line
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

_CONFIG_FILE = "config.json"
_FILES = (
  *("tokenizer.json", "special_tokens_map.json"),
  *("tokenizer_config.json", "added_tokens.json", _CONFIG_FILE),
)
# transformers reads tokenizer.json before the other files.
_VOCABULARY_FILES = "tokenizer.json", *PIECE_FILES, "vocab.txt", "vocab.json"
# The type of the model in tokenizer.json that would have the same tokens.
_MODEL_TYPES = {
  "vocab.txt": "WordPiece",
  "vocab.json": "BPE",
  **dict.fromkeys(PIECE_FILES, "Unigram"),
}
# Keys of tokenizer_config.json -> keys of the normalizer in tokenizer.json.
_WORD_RULES = {
  "strip_accents": "strip_accents",
  "tokenize_chinese_chars": "handle_chinese_chars",
}


def find_huggingface_tokenizer(preset, architecture=None):
  """Finds the vocabulary of a preset, and reads the rules of its tokenizer.

  Args:
    preset: a directory or handle.
    architecture: of the encoder; None for the model_type of config.json.

  Returns:
    A dict of vocabulary_path, lower_case, word_rules and added_tokens, the
    fields of `LoadedPreset`.

  Raises:
    ValueError: a file asks for other tokens than are computed here; the message
      names the file and the key.
  """
  paths = {name: preset_file(preset, name) for name in _FILES}
  contents = {
    name: read_json_object(path) for name, path in paths.items() if path
  }
  vocabularies = {name: preset_file(preset, name) for name in _VOCABULARY_FILES}
  vocabulary_name = next(filter(vocabularies.get, _VOCABULARY_FILES), None)
  vocabulary_path = vocabularies.get(vocabulary_name)
  lower_case, word_rules = None, {}
  if "tokenizer.json" in contents:
    values = contents["tokenizer.json"]
    model_type, lower_case = check_json(values, paths["tokenizer.json"])
    normalizer = flat_values(values)
    for key, name in _WORD_RULES.items():
      word_rules[key] = normalizer.get(f"normalizer.{name}")
    piece_path = next(filter(None, map(vocabularies.get, PIECE_FILES)), None)
    if model_type == "Unigram" and piece_path:
      _report_fallback(values, vocabulary_path, piece_path)
  else:
    model_type = _MODEL_TYPES.get(vocabulary_name, "WordPiece")
  config = contents.get(_CONFIG_FILE, {})
  architecture = architecture or config.get("model_type")
  check_config(
    {"tokenizer_class": config.get("tokenizer_class")},
    model_type,
    paths[_CONFIG_FILE],
    architecture,
  )
  for name in ("special_tokens_map.json", "tokenizer_config.json"):
    if name not in contents:
      continue
    values = contents[name]
    configured = check_config(values, model_type, paths[name], architecture)
    # transformers' class for any tokenizer.json does not read these keys.
    if values.get("tokenizer_class") != "PreTrainedTokenizerFast":
      lower_case = lower_case if configured is None else configured
      word_rules |= {key: values[key] for key in _WORD_RULES if key in values}
  if model_type == "Unigram" and architecture == "albert":
    lower_case, keeps_accents = _albert_rules(contents, paths)
    word_rules = {"keeps_accents": keeps_accents}
  else:
    if model_type != "WordPiece":
      lower_case = False
    keeps_accents = word_rules.get("strip_accents") is False
    word_rules = {
      "keeps_accents": keeps_accents and lower_case is not False,
      "joins_chinese": word_rules.get("tokenize_chinese_chars") is False,
    }
  return {
    "vocabulary_path": vocabulary_path,
    "lower_case": lower_case,
    "word_rules": word_rules,
    "added_tokens": added_tokens_of_files(
      {name: (paths[name], values) for name, values in contents.items()},
      model_type,
    ),
  }


def _albert_rules(contents, paths):
  """Returns whether an ALBERT lower-cases, and whether it keeps accents.

  Args:
    contents: JSON objects by the names of their files.
    paths: paths by the same names.
  """
  config = contents.get("tokenizer_config.json", {})
  keys = "do_lower_case", "keep_accents"
  configured = {key: config.get(key) for key in keys}
  if "tokenizer.json" not in contents:
    return (
      configured["do_lower_case"] is not False,
      configured["keep_accents"] is True,
    )
  steps = albert_normalizer_of(contents["tokenizer.json"]) or ""
  rules = {
    "do_lower_case": "Lowercase" in steps,
    "keep_accents": "StripAccents" not in steps,
  }
  # transformers 4 goes by tokenizer.json, transformers 5 by the other file.
  for key, value in configured.items():
    if value not in (None, rules[key]):
      raise ValueError(
        f"{paths['tokenizer_config.json']}: {key} must be {rules[key]} or "
        "missing, as in the normalizer of tokenizer.json. Received: "
        f"{value}. Keep the file with which the model was trained."
      )
  return tuple(rules.values())


def _report_fallback(values, json_path, piece_path):
  """Logs what unknown characters become, if two files differ in this.

  The models of DeBERTa-v3 have byte_fallback, its tokenizer.json has not.
  """
  model = parse_model(read_bytes(piece_path), piece_path)
  has_bytes = bool(values["model"].get("byte_fallback"))
  if model.trainer_spec.byte_fallback != has_bytes:
    replacements = "the unknown token", "tokens of their bytes"
    log_line(
      f"Characters that the vocabulary lacks become {replacements[has_bytes]}: "
      f"so says {json_path}, which transformers reads. By {piece_path} they "
      f"would become {replacements[not has_bytes]}. Remove the first file to "
      "use the second."
    )


def write_huggingface_tokenizer(directory, backbone, vocabulary, do_lower_case):
  """Writes the tokenizer of a backbone for transformers.

  Args:
    directory: local directory.
    backbone: encoder of the tokens.
    vocabulary: as `load_vocabulary` returns it.
    do_lower_case: whether text is lower-cased.
  """
  files = files_of(architecture_of(backbone).name)
  kind = vocabulary_kind(vocabulary)
  config = {"model_max_length": backbone.max_sequence_length}
  base_vocabulary, added_tokens = split_vocabulary(vocabulary)
  if added_tokens:
    config["added_tokens_decoder"] = {
      str(token.pop("id")): token for token in added_token_objects(vocabulary)
    }
  if kind == SENTENCE_PIECES:
    files = files_of(base_vocabulary.family)
    family = PIECE_FAMILIES[base_vocabulary.family]
    config |= {
      "bos_token": family.cls,
      "eos_token": family.sep,
      "cls_token": family.cls,
      "sep_token": family.sep,
      "unk_token": family.unknown,
      "pad_token": family.pad,
      "mask_token": family.mask,
    }
    if base_vocabulary.family == "albert":
      config |= base_vocabulary.albert_rules
    pieces_path = os.path.join(directory, files.piece_file)
    write_bytes(pieces_path, base_vocabulary.proto)
    write_json_atomically(
      os.path.join(directory, "tokenizer.json"),
      json_of_sentence_pieces(vocabulary),
    )
  elif kind == MODERNBERT_PAIRS:
    names = ("cls", "sep", "pad", "unk", "mask")
    config |= {f"{name}_token": f"[{name.upper()}]" for name in names}
    write_json_atomically(
      os.path.join(directory, "tokenizer.json"),
      json_of_modernbert_pairs(vocabulary),
    )
  elif kind == BYTE_PAIRS:
    ids = {token: i for i, token in enumerate(base_vocabulary.tokens)}
    write_json_atomically(os.path.join(directory, "vocab.json"), ids)
    merges = ["#version: 0.2", *base_vocabulary.merges]
    write_lines(os.path.join(directory, "merges.txt"), merges)
  else:
    files = files if files.tokens[0] == WORD_PIECES else files_of("bert")
    config["do_lower_case"] = do_lower_case
    if isinstance(base_vocabulary, WordPieces):
      if base_vocabulary.keeps_accents:
        config["strip_accents"] = False
      config["tokenize_chinese_chars"] = not base_vocabulary.joins_chinese
      base_vocabulary = base_vocabulary.tokens
    write_lines(os.path.join(directory, "vocab.txt"), base_vocabulary)
  # transformers has no class for ModernBERT's tokenizer alone.
  config["tokenizer_class"] = (
    "PreTrainedTokenizerFast"
    if kind == MODERNBERT_PAIRS
    else f"{files.class_name}Tokenizer"
  )
  write_json_atomically(
    os.path.join(directory, "tokenizer_config.json"), config
  )
