"""The keys of Hugging Face's tokenizer files that can change tokens.

The tables give the values with which bert_span computes the same tokens; None
stands for a missing key. A file with another value is refused by the name of
the key. do_lower_case, strip_accents and tokenize_chinese_chars, and those of a
normalizer, are used. All other keys leave the tokens of a question and a
passage as they are.
"""

import itertools

from bert_span.options.messages import shortened
from bert_span.text.sentencepiece_model import ALBERT_NORMALIZERS

# Keys of tokenizer_config.json and special_tokens_map.json, by the type of
# the model in tokenizer.json.
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
# How the class names begin, by config.json's model_type. Only the classes of
# DeBERTa and ALBERT read do_lower_case.
_UNIGRAM_CLASSES = {
  "roberta": "XLMRoberta",  # whose ids are the only ones that it can have
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
# Steps of a normalizer that has no map of characters, by the names of their
# types. `SentencePieceTokenizer` computes them.
UNIGRAM_STEPS = {
  # SentencePiece's own.
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
    # Words of 101 to 200 characters: docs/coming_from_transformers.md.
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
    # Names of the steps; SentencePiece strips a text and joins its blanks.
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
# Fields by which the tokenizers library knows a model's type, in its order:
# files written before version 0.9 do not name the type.
_TYPE_MARKS = {
  "merges": "BPE",
  "max_input_chars_per_word": "WordPiece",
  "unk_id": "Unigram",
}
# Tokens that may be listed as added. bert_span splits a text at no others.
SPECIAL_TOKENS = {
  "WordPiece": {"[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"},
  "BPE": {"<s>", "</s>", "<unk>", "<pad>", "<mask>"},
  "Unigram": {
    *("<s>", "</s>", "<unk>", "<pad>", "<mask>"),
    *("<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED"),
    *("[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"),
  },
}


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
    classes = accepted["tokenizer_class"]
    classes = [c for c in classes if not str(c).startswith(refused)]
    accepted = {**accepted, "tokenizer_class": classes}
    name = values.get("tokenizer_class") or _UNIGRAM_CLASSES.get(model_type)
    if str(name).startswith(("XLMRoberta", "Camembert")):
      lower_case, accepted["do_lower_case"] = None, (None, False, True)
    if str(name).startswith("Albert"):
      accepted["do_lower_case"] = accepted["keep_accents"] = (None, False, True)
  _check(values, accepted, path)
  added = values.get("added_tokens_decoder") or {}
  if not isinstance(added, dict):
    raise ValueError(
      f"{path}: added_tokens_decoder must be an object. Received: "
      f"{shortened(added)}. Use the file that belongs to the model."
    )
  extra = [
    values.get(key) or ()
    for key in ("additional_special_tokens", "extra_special_tokens")
  ]
  extra = [each.values() if isinstance(each, dict) else each for each in extra]
  check_added_tokens(
    [*added.values(), *itertools.chain(*extra)], type_name, path
  )
  return lower_case


def check_json(values, path):
  """Refuses values of tokenizer.json that give other tokens.

  Returns:
    The type of the model, a key of `JSON_VALUES`, and whether text is
    lower-cased.

  Raises:
    ValueError: as `check_config`.
  """
  flat = flat_values(values)
  marks = (k for mark, k in _TYPE_MARKS.items() if f"model.{mark}" in flat)
  type_name = flat.get("model.type") or next(marks, None)
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
  steps = albert = None
  if type_name == "Unigram":
    albert = albert_normalizer_of(values)
  if albert:
    lower_case = "Lowercase" in albert
    accepted = accepted | {
      "normalizer.type": (flat["normalizer.type"],),
      "model.unk_id": (1,),
      "post_processor.pair": (_BERT_PAIR,),
    }
    for key in ("normalizer.pattern", "normalizer.content"):
      del accepted[key]
    if "normalizer.precompiled_charsmap" not in flat:
      # Else only a map of characters makes all white space blanks.
      accepted["pre_tokenizer.type"] = ("WhitespaceSplit Metaspace",)
  elif type_name == "Unigram":
    name = str(flat.get("normalizer.type"))
    replaces = {"Precompiled Replace Replace": UNIGRAM_STEPS["Replace Replace"]}
    steps = {**UNIGRAM_STEPS, **replaces}.get(name)
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
  check_added_tokens(values.get("added_tokens") or (), type_name, path)
  return type_name, lower_case


def albert_steps(name):
  """The steps of one of the `ALBERT_NORMALIZERS` in a tokenizer.json."""
  return [*_QUOTES, *({"type": step} for step in name.split()[1:])]


def albert_normalizer_of(values):
  """Which of the `ALBERT_NORMALIZERS` a tokenizer.json has, None if none.

  A map of characters may follow, and a step that leaves one blank of several.
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
    if not any(value == c and type(value) is type(c) for c in choices):
      shown = ", ".join("missing" if c is None else repr(c) for c in choices)
      raise ValueError(
        f"{path}: {key} must be {shown}; other values give other tokens. "
        f"Received: {shortened(value)}. Use another model."
      )


def check_added_tokens(tokens, type_name, path):
  """Refuses a tokenizer that looks for other tokens before it splits a text."""
  if type_name == NFC_PAIRS:
    _check_found_tokens(tokens, path)
    return
  names = {str(_token_text(token)) for token in tokens}
  refused = sorted(names - SPECIAL_TOKENS[type_name])
  if refused:
    raise ValueError(
      f"{path}: added tokens can only be "
      f"{', '.join(sorted(SPECIAL_TOKENS[type_name]))}; bert_span looks for no "
      f"others in a text. Received: {shortened(', '.join(refused))}. If texts "
      "never contain them, remove them from the file; else use another model."
    )


def is_found_in_texts(token):
  """Whether an added token of `NFC_PAIRS` is found in a text, by its object.

  Special ones are ordinary characters there.
  """
  return isinstance(token, dict) and not token.get("special")


def _check_found_tokens(tokens, path):
  """Refuses added tokens that a `ModernBertTokenizer` does not find."""
  for token in filter(is_found_in_texts, tokens):
    flags = {"normalized": True, "single_word": False}
    for name, value in (flags | {"lstrip": False, "rstrip": False}).items():
      if token.get(name, value) is not value:
        raise ValueError(
          f"{path}: {name} of the added token {_token_text(token)!r} must be "
          f"{value}. Received: {token[name]!r}. If texts never contain it, "
          "make it a special token; else use another model."
        )


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
  """Flattens tokenizer.json: values by keys that are joined by dots.

  A sequence has the keys of all its items; its type is their types and blanks.
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


def _items(part, name):
  """Returns the objects in a sequence, or an object itself, as a list."""
  items = part.get(name) if isinstance(part, dict) else None
  items = items if isinstance(items, list) else [part]
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
