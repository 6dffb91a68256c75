"""The tokenizer's files in a model directory, a preset of KerasHub."""

import os

import keras

from bert_span.modeling.architectures import ARCHITECTURES, architecture_of
from bert_span.modeling.keras_internals import preset_file
from bert_span.presets.architectures.architecture_files import (
  all_files,
  files_of,
)
from bert_span.presets.directory_weights import PACKAGE_KEY
from bert_span.presets.tokenizer_json import (
  added_token_objects,
  json_of_modernbert_pairs,
)
from bert_span.presets.tokenizer_keys import added_tokens_of_json
from bert_span.presets.vocabulary_files import load_vocabulary
from bert_span.storage.atomic_file import (
  write_bytes,
  write_json_atomically,
  write_lines,
)
from bert_span.storage.files import checked_object, read_json_object
from bert_span.text.vocabulary import (
  BYTE_PAIRS,
  MODERNBERT_PAIRS,
  SENTENCE_PIECES,
  WORD_PIECES,
  WordPieces,
  split_vocabulary,
  vocabulary_kind,
)

TOKENIZER_FILE = "tokenizer.json"
VOCABULARY_FILE = "assets/tokenizer/vocabulary.txt"
_PAIRS_FILE = "assets/tokenizer/vocabulary.json"  # of RoBERTa
_MERGES_FILE = "assets/tokenizer/merges.txt"
_PIECES_FILE = "assets/tokenizer/vocabulary.spm"  # a SentencePiece model
_JSON_FILE = "assets/tokenizer/tokenizer.json"  # of ModernBERT
# ModernBERT's tokenizer.json has its added tokens.
_ADDED_FILE = "assets/tokenizer/added_tokens.json"
_VOCABULARY_KINDS = {
  VOCABULARY_FILE: WORD_PIECES,
  _PAIRS_FILE: BYTE_PAIRS,
  _PIECES_FILE: SENTENCE_PIECES,
  _JSON_FILE: MODERNBERT_PAIRS,
}
TOKENIZER_FILES = (
  *(TOKENIZER_FILE, *_VOCABULARY_KINDS, _MERGES_FILE, _ADDED_FILE),
)
# Types of models in a tokenizer.json of the tokenizers library.
_MODEL_TYPES = {
  WORD_PIECES: "WordPiece",
  BYTE_PAIRS: "BPE",
  SENTENCE_PIECES: "Unigram",
}
# Settings of KerasHub's tokenizers -> the values that give the tokens that are
# computed here; None for a missing setting.
_TOKENIZER_VALUES = {
  "split": (None, True),
  "suffix_indicator": (None, "##"),
  "oov_token": (None, "[UNK]"),
  "add_prefix_space": (None, False),
}


def write_directory_tokenizer(
  directory, vocabulary, do_lower_case, architecture=ARCHITECTURES["bert"]
):
  """Writes tokenizer.json and the files of a vocabulary.

  Args:
    directory: local directory.
    vocabulary: as `load_vocabulary` returns it.
    do_lower_case: whether text is lower-cased.
    architecture: the `Architecture` of the encoder.
  """
  path = os.path.join(directory, VOCABULARY_FILE)
  os.makedirs(os.path.dirname(path), exist_ok=True)
  kind, files = vocabulary_kind(vocabulary), files_of(architecture.name)
  base_vocabulary, added_tokens = split_vocabulary(vocabulary)
  if added_tokens and kind != MODERNBERT_PAIRS:
    objects = {"added_tokens": added_token_objects(vocabulary)}
    write_json_atomically(os.path.join(directory, _ADDED_FILE), objects)
  # KerasHub refuses a vocabulary without [MASK], so its tokenizers get none.
  if kind == SENTENCE_PIECES:
    pieces_path = os.path.join(directory, _PIECES_FILE)
    write_bytes(pieces_path, base_vocabulary.proto)
    tokenizer_class = files_of(base_vocabulary.family).keras_tokenizer
    if not tokenizer_class:
      return
    tokenizer = tokenizer_class(None)
  elif kind == MODERNBERT_PAIRS:
    values = json_of_modernbert_pairs(vocabulary)
    write_json_atomically(os.path.join(directory, _JSON_FILE), values)
    return
  elif kind == BYTE_PAIRS:
    tokens, merges = base_vocabulary
    ids = {token: i for i, token in enumerate(tokens)}
    write_json_atomically(os.path.join(directory, _PAIRS_FILE), ids)
    write_lines(os.path.join(directory, _MERGES_FILE), merges)
    tokenizer = files.keras_tokenizer(None, None)
  else:
    keeps_accents = getattr(base_vocabulary, "keeps_accents", False)
    strips_accents = do_lower_case and not keeps_accents
    write_lines(path, getattr(base_vocabulary, "tokens", base_vocabulary))
    files = files if files.tokens[0] == WORD_PIECES else files_of("bert")
    tokenizer = files.keras_tokenizer(
      None, lowercase=do_lower_case, strip_accents=strips_accents
    )
  settings = keras.saving.serialize_keras_object(tokenizer)
  settings.pop("build_config", None)  # as KerasHub's save_to_preset
  if isinstance(base_vocabulary, WordPieces):
    # KerasHub reads this key, and does not write it.
    settings["config"]["split_on_cjk"] = not base_vocabulary.joins_chinese
    settings[PACKAGE_KEY] = {"keeps_accents": base_vocabulary.keeps_accents}
  write_json_atomically(os.path.join(directory, TOKENIZER_FILE), settings)


def find_directory_tokenizer(preset, backbone):
  """Finds the vocabulary of a preset, and reads the rules of its tokenizer.

  Args:
    preset: a directory or handle.
    backbone: the encoder of the tokens.

  Returns:
    A dict of fields of `LoadedPreset`: vocabulary_path, lower_case, word_rules
    and added_tokens. It is empty for a preset without a vocabulary.

  Raises:
    ValueError: tokenizer.json asks for other tokens than are computed here; the
      message names the key.
  """
  paths = {name: preset_file(preset, name) for name in _VOCABULARY_KINDS}
  name = next(filter(paths.get, paths), None)
  if name is None:
    return {}
  vocabulary_path, kind = paths[name], _VOCABULARY_KINDS[name]
  lower_case, word_rules = None, {}
  if path := preset_file(preset, TOKENIZER_FILE):
    lower_case, word_rules = _read_tokenizer(path, kind, backbone)
  if kind == SENTENCE_PIECES and architecture_of(backbone).name == "albert":
    rules = load_vocabulary(vocabulary_path, "albert").albert_rules
    lower_case = rules["do_lower_case"]
  elif kind != WORD_PIECES:
    lower_case = False
  added_tokens = None
  path = preset_file(preset, _ADDED_FILE)
  if path and kind in _MODEL_TYPES:
    values = read_json_object(path)
    added_tokens = added_tokens_of_json(values, _MODEL_TYPES[kind], path)
  return {
    "vocabulary_path": vocabulary_path,
    "lower_case": lower_case,
    "word_rules": word_rules,
    "added_tokens": added_tokens,
  }


def _read_tokenizer(path, kind, backbone):
  """Returns lower_case and word_rules by KerasHub's tokenizer.json."""
  values = read_json_object(path)
  encoder_files = files_of(architecture_of(backbone).name)
  name = values.get("registered_name")
  tokenizer_classes = [
    files.keras_tokenizer
    for files in all_files().values()
    if files.tokens[0] == kind
    and (
      kind != SENTENCE_PIECES
      or files.piece_family == encoder_files.piece_family
    )
  ]
  tokenizer_class = keras.saving.get_registered_object(str(name))
  if not tokenizer_class or tokenizer_class not in tokenizer_classes:
    raise ValueError(
      f"{path}: registered_name must be a tokenizer of {kind} for "
      f"{encoder_files.class_name}. Received: {name}. Use the files of one "
      "model."
    )
  settings = checked_object(values.get("config"), f"{path}, config")
  lower_case = settings.get("lowercase")
  if not isinstance(lower_case, bool | None):
    raise ValueError(
      f"{path}: lowercase must be true or false. Received: {lower_case!r}."
    )
  # Accents are removed where letters are lower-cased, unless this package says
  # otherwise. KerasHub's presets say strip_accents=False, but have the weights
  # of models that were trained without accents.
  accepted_values = dict(_TOKENIZER_VALUES)
  if not lower_case:
    accepted_values["strip_accents"] = (None, False)
  for key, accepted in accepted_values.items():
    if settings.get(key) not in accepted:
      raise ValueError(
        f"{path}: {key} must be {accepted[1]!r}; other values give other "
        f"tokens. Received: {settings[key]!r}. Use another model."
      )
  rules = checked_object(values.get(PACKAGE_KEY, {}), f"{path}, {PACKAGE_KEY}")
  return lower_case, {
    "keeps_accents": rules.get("keeps_accents") is True,
    "joins_chinese": settings.get("split_on_cjk") is False,
  }
