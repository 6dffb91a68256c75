"""The keys of Hugging Face's tokenizer files that can change tokens.

The tables list, for each key, the values with which bert_span computes the same
tokens; None means a missing key. A file with another value is refused by the
name of the key. do_lower_case, strip_accents, tokenize_chinese_chars and the
same settings of a normalizer are read and used. All other keys do not change
the tokens of a question and a passage.
"""

import re

from bert_span.options.messages import shortened
from bert_span.text.sentencepiece_model import ALBERT_NORMALIZERS
from bert_span.text.vocabulary import AddedToken

# Keys of tokenizer_config.json and special_tokens_map.json, by the model's type
# in tokenizer.json.
CONFIG_VALUES = {
  "WordPiece": {
    "tokenizer_class": (
      *(None, "BertTokenizer", "BertTokenizerFast", "DistilBertTokenizer"),
      *("DistilBertTokenizerFast", "ElectraTokenizer", "ElectraTokenizerFast"),
      *("MobileBertTokenizer", "MobileBertTokenizerFast"),
      *("PreTrainedTokenizerFast", "TokenizersBackend"),
    ),
    "do_basic_tokenize": (None, True),
    "never_split": (None, []),
    "tokenize_chinese_chars": (None, True, False),
    # BertJapaneseTokenizer divides words by their morphology.
    "word_tokenizer_type": (None, "basic"),
    "subword_tokenizer_type": (None, "wordpiece"),
    "unk_token": (None, "[UNK]"),
    "cls_token": (None, "[CLS]"),
    "sep_token": (None, "[SEP]"),
  },
  "BPE": {
    "tokenizer_class": (
      *(None, "RobertaTokenizer", "RobertaTokenizerFast"),
      *("PreTrainedTokenizerFast", "TokenizersBackend"),
    ),
    "add_prefix_space": (None, False),
    "cls_token": (None, "<s>"),
    "sep_token": (None, "</s>"),
    "pad_token": (None, "<pad>"),
  },
  "Unigram": {
    "tokenizer_class": (
      *(None, "XLMRobertaTokenizer", "XLMRobertaTokenizerFast"),
      *("CamembertTokenizer", "CamembertTokenizerFast"),
      *("DebertaV2Tokenizer", "DebertaV2TokenizerFast"),
      *("AlbertTokenizer", "AlbertTokenizerFast"),
      *("PreTrainedTokenizerFast", "TokenizersBackend"),
    ),
    "add_prefix_space": (None, True),
    "do_lower_case": (None, False),
    "split_by_punct": (None, False),
    "sp_model_kwargs": (None, {}),
    "vocab_type": (None, "spm"),
    "unk_token": (None, "<unk>", "[UNK]"),
    "cls_token": (None, "<s>", "[CLS]"),
    "sep_token": (None, "</s>", "[SEP]"),
    "pad_token": (None, "<pad>", "[PAD]"),
  },
}
# model_type in config.json -> the start of the names of its tokenizer classes.
# Only the classes of DeBERTa and ALBERT read do_lower_case.
_UNIGRAM_CLASSES = {
  # RoBERTa's padding id allows only XLM-R's ids.
  "roberta": "XLMRoberta",
  "xlm-roberta": "XLMRoberta",
  "camembert": "Camembert",
  "deberta-v2": "DebertaV2",
  "albert": "Albert",
}
# BPE with ModernBERT's normalizer and special tokens.
NFC_PAIRS = "BPE after NFC"
_BERT_PAIR = "[CLS]:0 A:0 [SEP]:0 B:1 [SEP]:1"
_PAIR_WITHOUT_SEGMENTS = "[CLS]:0 A:0 [SEP]:0 B:0 [SEP]:0"
_ROBERTA_PAIR = "<s>:0 A:0 </s>:0 </s>:0 B:0 </s>:0"
_NO_OUTER_BLANKS = {
  "type": "Replace",
  "pattern": {"Regex": r"\A +| +\z"},
  "content": "",
}
_ONE_BLANK = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
# Steps of normalizers without a map of characters, by the types of the steps.
# `SentencePieceTokenizer` computes them.
UNIGRAM_STEPS = {
  # SentencePiece without a map of characters.
  "Replace Replace": [_NO_OUTER_BLANKS, _ONE_BLANK],
  # DeBERTa's in transformers 4, and in transformers 5.
  "Strip Replace": [
    {"type": "Strip", "strip_left": True, "strip_right": True},
    _ONE_BLANK,
  ],
  "Replace NFC Strip": [
    {**_ONE_BLANK, "pattern": {"Regex": r"\s{2,}|[\n\r\t]"}},
    {"type": "NFC"},
    {"type": "Strip", "strip_left": False, "strip_right": True},
  ],
}
_QUOTES = [
  {"type": "Replace", "pattern": {"String": quotes}, "content": '"'}
  for quotes in ("``", "''")
]
# Keys of tokenizer.json, the names of nested objects joined by dots.
JSON_VALUES = {
  "WordPiece": {
    "normalizer.type": ("BertNormalizer",),
    "normalizer.clean_text": (True,),
    "normalizer.handle_chinese_chars": (True, False),
    "pre_tokenizer.type": ("BertPreTokenizer",),
    "model.unk_token": ("[UNK]",),
    "model.continuing_subword_prefix": ("##",),
    # Words of 101 to 200 characters: docs/models.md.
    "model.max_input_chars_per_word": (None, 100, 200),
    "post_processor.pair": (_BERT_PAIR, _PAIR_WITHOUT_SEGMENTS),
  },
  "BPE": {
    "normalizer.type": (None,),
    "pre_tokenizer.type": ("ByteLevel",),
    "pre_tokenizer.add_prefix_space": (False,),
    "pre_tokenizer.use_regex": (None, True),
    "model.dropout": (None, 0, 0.0),
    "model.continuing_subword_prefix": (None, ""),
    "model.end_of_word_suffix": (None, ""),
    "model.ignore_merges": (None, False),
    "post_processor.pair": (_ROBERTA_PAIR,),
  },
  "Unigram": {
    # Types of the steps. SentencePiece strips a text and joins its blanks.
    "normalizer.type": (
      *("Precompiled", "Precompiled Replace", "Strip Precompiled Replace"),
      *("Precompiled Strip Replace", "Precompiled Replace Replace"),
      *UNIGRAM_STEPS,
    ),
    "normalizer.pattern": (None, {"Regex": " {2,}"}),
    "normalizer.content": (None, " ", "\u2581"),
    "pre_tokenizer.type": ("Metaspace", "WhitespaceSplit Metaspace"),
    "pre_tokenizer.replacement": ("\u2581",),
    "pre_tokenizer.add_prefix_space": (None, True),
    "pre_tokenizer.prepend_scheme": (None, "always"),
    "pre_tokenizer.split": (None, True),
    "model.unk_id": (3,),
    "model.byte_fallback": (None, False, True),
    "post_processor.pair": (_ROBERTA_PAIR, _BERT_PAIR),
  },
}
JSON_VALUES[NFC_PAIRS] = JSON_VALUES["BPE"] | {
  "normalizer.type": ("NFC",),
  "post_processor.pair": (_PAIR_WITHOUT_SEGMENTS, _BERT_PAIR),
}
CONFIG_VALUES[NFC_PAIRS] = {
  "tokenizer_class": (None, "PreTrainedTokenizerFast", "TokenizersBackend"),
  "add_prefix_space": (None, False),
  "cls_token": (None, "[CLS]"),
  "sep_token": (None, "[SEP]"),
  "pad_token": (None, "[PAD]"),
}
# Files written before version 0.9 of the tokenizers library do not name the
# type of the model. The library sees it by these fields, in this order.
_TYPES_BY_FIELD = {
  "merges": "BPE",
  "max_input_chars_per_word": "WordPiece",
  "unk_id": "Unigram",
}
# Special tokens. They are ordinary characters in a text, even though files list
# them among the added tokens.
SPECIAL_TOKENS = {
  "WordPiece": {"[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"},
  "BPE": {"<s>", "</s>", "<unk>", "<pad>", "<mask>"},
  "Unigram": {
    *("<s>", "</s>", "<unk>", "<pad>", "<mask>"),
    *("<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED"),
    *("[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"),
  },
  NFC_PAIRS: {
    *("[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"),
    *("<|endoftext|>", "<|padding|>"),
  },
}
# Keys of tokenizer_config.json and special_tokens_map.json. transformers adds
# their tokens.
_NAMED_TOKEN_KEYS = [
  f"{name}_token" for name in ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
]
# Keys of lists of further tokens; only the first of them that is there counts.
_EXTRA_TOKEN_KEYS = "extra_special_tokens", "additional_special_tokens"
_CONTENT = re.compile(r"[^\0\ud800-\udfff]{1,1000}", re.DOTALL)


def check_config(values, type_name, path, model_type=None):
  """Refuses values of tokenizer_config.json that give other tokens.

  Args:
    values: object of this file, special_tokens_map.json or config.json.
    type_name: "WordPiece", "BPE", "Unigram" or `NFC_PAIRS`.
    path: of the file, for messages.
    model_type: model_type of config.json, None if unknown.

  Returns:
    True if text is lower-cased, None if the file does not say.

  Raises:
    ValueError: a value is not supported; the message names its key.
  """
  lower_case = _boolean(values, "do_lower_case", path)
  accepted = CONFIG_VALUES[type_name]
  if type_name == "WordPiece":
    # A missing do_lower_case is true for transformers.
    accents = (None, False) if lower_case is False else (None, False, True)
    accepted = {**accepted, "strip_accents": accents}
  if type_name == "Unigram":
    refused = {*_UNIGRAM_CLASSES.values()} - {_UNIGRAM_CLASSES.get(model_type)}
    refused = tuple(refused) if model_type in _UNIGRAM_CLASSES else ()
    class_names = [
      name
      for name in accepted["tokenizer_class"]
      if not str(name).startswith(refused)
    ]
    accepted = {**accepted, "tokenizer_class": class_names}
    class_name = values.get("tokenizer_class") or _UNIGRAM_CLASSES.get(
      model_type
    )
    if str(class_name).startswith(("XLMRoberta", "Camembert")):
      lower_case, accepted["do_lower_case"] = None, (None, False, True)
    if str(class_name).startswith("Albert"):
      accepted["do_lower_case"] = accepted["keep_accents"] = (None, False, True)
  _check(values, accepted, path)
  return lower_case


def check_json(values, path):
  """Refuses values of tokenizer.json that give other tokens.

  Returns:
    The type of the model, a key of `JSON_VALUES`, and whether text is
    lower-cased.

  Raises:
    ValueError: a value is not supported; the message names its key.
  """
  flat = flat_values(values)
  types_by_fields = (
    name for field, name in _TYPES_BY_FIELD.items() if f"model.{field}" in flat
  )
  type_name = flat.get("model.type") or next(types_by_fields, None)
  names = [name for name in JSON_VALUES if name != NFC_PAIRS]
  if type_name not in names:
    raise ValueError(
      f"{path}: the type of its model must be {' or '.join(names)}. "
      f"Received: {type_name!r}. Use another model."
    )
  if type_name == "BPE" and flat.get("normalizer.type") == "NFC":
    type_name = NFC_PAIRS
  lower_case, accepted = False, JSON_VALUES[type_name]
  if type_name == "WordPiece":
    lower_case = _boolean(flat, "normalizer.lowercase", path)
    accents = (None, False, True) if lower_case else (None, False)
    accepted = {**accepted, "normalizer.strip_accents": accents}
  steps = albert_normalizer = None
  if type_name == "Unigram":
    albert_normalizer = albert_normalizer_of(values)
  if albert_normalizer:
    lower_case = "Lowercase" in albert_normalizer
    accepted = accepted | {
      "normalizer.type": (flat["normalizer.type"],),
      "model.unk_id": (1,),
      "post_processor.pair": (_BERT_PAIR,),
    }
    for key in ("normalizer.pattern", "normalizer.content"):
      del accepted[key]
    if "normalizer.precompiled_charsmap" not in flat:
      # Without a map of characters, only this step splits at all white space.
      accepted["pre_tokenizer.type"] = ("WhitespaceSplit Metaspace",)
  elif type_name == "Unigram":
    name = str(flat.get("normalizer.type"))
    if name == "Precompiled Replace Replace":
      steps = UNIGRAM_STEPS["Replace Replace"]
    else:
      steps = UNIGRAM_STEPS.get(name)
  if steps:
    accepted = {**accepted, "pre_tokenizer.type": ("Metaspace",)}
    for key in ("normalizer.pattern", "normalizer.content"):
      del accepted[key]
  _check(flat, accepted, path)
  if steps:
    received = _items(values["normalizer"], "normalizers")[-len(steps) :]
    if received != steps:
      raise ValueError(
        f"{path}: the steps of its normalizer must be {steps}; others give "
        f"other tokens. Received: {received}. Use another model."
      )
  return type_name, lower_case


def albert_steps(name):
  """Returns one of the `ALBERT_NORMALIZERS` as steps in a tokenizer.json."""
  return [*_QUOTES, *({"type": step} for step in name.split()[1:])]


def albert_normalizer_of(values):
  """Returns which of the `ALBERT_NORMALIZERS` a tokenizer.json has, or None.

  After its steps a map of characters may follow, and a step that joins blanks.
  """
  steps = _items(values.get("normalizer"), "normalizers")
  if steps[-1:] == [_ONE_BLANK]:
    steps.pop()
  if steps and steps[-1].get("type") == "Precompiled":
    steps.pop()
  names = (x for x in ALBERT_NORMALIZERS if albert_steps(x) == steps)
  return next(names, None)


def _check(values, accepted, path):
  for key, choices in accepted.items():
    value = _token_text(values.get(key))
    if not any(value == x and type(value) is type(x) for x in choices):
      shown = ", ".join("missing" if x is None else repr(x) for x in choices)
      raise ValueError(
        f"{path}: {key} must be {shown}; other values give other tokens. "
        f"Received: {shortened(value)}. Use another model."
      )


def added_tokens_of_json(values, type_name, path):
  """Returns the added tokens of a tokenizer.json, without special tokens.

  Args:
    values: the JSON object.
    type_name: as in `check_config`.
    path: of the file, for messages.

  Returns:
    A list of pairs of an `AddedToken` and its id.

  Raises:
    ValueError: an entry is not an added token; the message shows it.
  """
  objects = _container(values.get("added_tokens"), "added_tokens", list, path)
  return _added_tokens(objects, type_name, path)


def added_tokens_of_files(files, type_name):
  """Returns the added tokens of a directory, without special tokens.

  Tokens come from the same files as in transformers 5:

  - with added_tokens_decoder in tokenizer_config.json, from it and from
    tokenizer.json. Of a token in both, the flags of the first count.
  - without it, from added_tokens.json and tokenizer.json, and names of tokens
    in special_tokens_map.json replace those in tokenizer_config.json.

  Named and additional tokens are added to them.

  Args:
    files: dict from the names of files to pairs of a path and an object.
    type_name: as in `check_config`.

  Returns:
    A list of pairs of an `AddedToken` and its id, None for a named token whose
    id no file says.

  Raises:
    ValueError: an entry is not an added token; the message shows it.
  """
  path, config = files.get(
    "tokenizer_config.json", ("tokenizer_config.json", {})
  )
  json_path, values = files.get("tokenizer.json", ("", {}))
  json_tokens = added_tokens_of_json(values, type_name, json_path)
  decoder_key = "added_tokens_decoder"
  has_decoder = decoder_key in config
  if not has_decoder:
    _, special_tokens_map = files.get("special_tokens_map.json", ("", {}))
    config = {**config, **special_tokens_map}
  named_tokens = [config[key] for key in _NAMED_TOKEN_KEYS if config.get(key)]
  extra_tokens = next(
    (config[key] for key in _EXTRA_TOKEN_KEYS if config.get(key)), None
  )
  if isinstance(extra_tokens, dict):
    extra_tokens = [*extra_tokens.values()]
  keys = " or ".join(_EXTRA_TOKEN_KEYS)
  named_tokens += _container(extra_tokens, keys, list, path)
  named_objects = [
    {**_token_object(token, path), "id": None, "special": True}
    for token in named_tokens
  ]
  if has_decoder:
    decoder = _container(config[decoder_key], decoder_key, dict, path)
    objects = [
      {**_token_object(token, path), "id": _token_id(key)}
      for key, token in decoder.items()
    ]
    listed_tokens = json_tokens + _added_tokens(objects, type_name, path)
  else:
    added_path, ids = files.get("added_tokens.json", ("", {}))
    special_contents = [token.get("content") for token in named_objects]
    objects = [
      {"content": content, "id": i, "special": content in special_contents}
      for content, i in ids.items()
    ]
    listed_tokens = _added_tokens(objects, type_name, added_path) + json_tokens
  tokens = {token.content: (token, i) for token, i in listed_tokens}
  for token, token_id in _added_tokens(named_objects, type_name, path):
    tokens.setdefault(token.content, (token, token_id))
  return sorted(tokens.values(), key=_id_order)


def _id_order(pair):
  """Sorts pairs of a token and its id by the ids; None is last."""
  _, token_id = pair
  return (1, 0) if token_id is None else (0, token_id)


def _added_tokens(objects, type_name, path):
  """Returns pairs of an `AddedToken` and its id, without special tokens."""
  added_tokens = []
  for token in objects:
    token = _token_object(token, path)
    flags = [token.get(name) for name in AddedToken._fields[1:]]
    content, token_id = token.get("content"), token.get("id")
    if (
      not isinstance(content, str)
      or not _CONTENT.fullmatch(content)
      or not all(isinstance(flag, bool | None) for flag in flags)
      or not (token_id is None or (type(token_id) is int and token_id >= 0))
    ):
      raise ValueError(
        f"{path}: an added token must have a content of 1 to 1,000 characters, "
        "a whole number as its id, and true or false as "
        f"{', '.join(AddedToken._fields[1:])}. Received: {shortened(token)}. "
        "Use the file that belongs to the model."
      )
    *flags, normalized = flags
    if normalized is None:
      normalized = not token.get("special")
    if content not in SPECIAL_TOKENS[type_name]:
      token = AddedToken(content, *map(bool, flags), normalized)
      added_tokens.append((token, token_id))
  return added_tokens


def _container(value, key, container_type, path):
  """Returns the list or dict of a key, an empty one for a missing key."""
  if value is not None and not isinstance(value, container_type):
    name = {list: "an array", dict: "an object"}[container_type]
    raise ValueError(
      f"{path}: {key} must be {name}. Received: {shortened(value)}. Use the "
      "file that belongs to the model."
    )
  return container_type() if value is None else value


def _token_object(token, path):
  """Returns the object of a token, which may be only its text in a file."""
  if isinstance(token, str):
    return {"content": token}
  return _container(token, "a token", dict, path)


def _token_id(key):
  """Returns the id in a key of a JSON object; the key if it is no number."""
  return int(key) if re.fullmatch(r"\d{1,9}", key) else key


def _token_text(token):
  """Returns the text of a special token, a string or an object."""
  return token.get("content", token) if isinstance(token, dict) else token


def _boolean(values, key, path):
  value = values.get(key)
  if not isinstance(value, bool | None):
    raise ValueError(
      f"{path}: {key} must be true or false. Received: {value!r}. Correct it."
    )
  return value


def flat_values(values):
  """Flattens tokenizer.json: a dict of values by keys joined with dots.

  A sequence has the keys of all its items. Its type is a string of their types,
  with blanks between them.
  """
  flat = {}
  lists = {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers"}
  for name in ("normalizer", "pre_tokenizer", "model", "post_processor"):
    items = _items(values.get(name), lists.get(name))
    for item in items:
      flat |= {f"{name}.{key}": value for key, value in item.items()}
    if len(items) > 1:
      flat[f"{name}.type"] = " ".join(str(item.get("type")) for item in items)
  flat["post_processor.pair"] = _pair(values.get("post_processor"))
  return flat


def _items(value, name):
  """Returns the objects in a sequence, or the one object, as a list."""
  items = value.get(name) if isinstance(value, dict) else None
  items = items if isinstance(items, list) else [value]
  return [item for item in items if isinstance(item, dict)]


def _pair(processor):
  """Returns tokens and segments of question A and passage B, as a string."""
  match processor:
    case {"type": "BertProcessing", "cls": [cls, _], "sep": [sep, _]}:
      return f"{cls}:0 A:0 {sep}:0 B:1 {sep}:1"
    case {"type": "RobertaProcessing", "cls": [cls, _], "sep": [sep, _]}:
      return f"{cls}:0 A:0 {sep}:0 {sep}:0 B:0 {sep}:0"
    case {"type": "TemplateProcessing", "pair": [*template]}:
      try:
        items = [item for entry in template for item in entry.values()]
        return " ".join(f"{item['id']}:{item['type_id']}" for item in items)
      except (AttributeError, KeyError, TypeError):
        return None
    case _:
      return None
