"""Vocabularies as tokenizer.json of the tokenizers library, and back."""

import base64

from bert_span.presets.tokenizer_keys import (
  NFC_PAIRS,
  SPECIAL_TOKENS,
  UNIGRAM_STEPS,
  albert_normalizer_of,
  albert_steps,
  check_json,
  flat_values,
)
from bert_span.text.byte_pair_tokenizer import tokens_of_merges
from bert_span.text.sentencepiece_model import (
  BLANK,
  BYTE,
  BYTE_TOKENS,
  CONTROL,
  NORMAL,
  PIECE_FAMILIES,
  UNKNOWN,
  ModelProto,
  PieceFamily,
  parse_model,
  sentence_pieces,
  steps_of,
)
from bert_span.text.vocabulary import AddedToken, split_vocabulary

_CLS_AND_SEP = "[CLS]", "[SEP]"


def sentence_pieces_of_json(values, family, source):
  """Returns the `SentencePieces` of a tokenizer.json with a Unigram model.

  Args:
    values: the JSON object. It has the tokens with their scores, in the order
      of their ids, and the map of characters.
    family: name in `PIECE_FAMILIES`.
    source: path of the file, for messages.
  """
  rules = PIECE_FAMILIES.get(family, PieceFamily((), ()))
  control_tokens = rules.cls, rules.sep, rules.pad, rules.mask
  model = ModelProto()
  try:
    vocab = [(token, float(score)) for token, score in values["model"]["vocab"]]
    first_tokens = tuple(token for token, _ in vocab[: len(rules.first)])
    if first_tokens != rules.first:
      raise ValueError(f"it begins with {first_tokens}, not {rules.first}")
    vocab = vocab[len(rules.first) :]
    if vocab and vocab[-1][0] == rules.mask:
      del vocab[-1]
    byte_tokens = _fallback_tokens(values["model"], dict(vocab))
    model.trainer_spec.byte_fallback = bool(byte_tokens)
    for token, score in [*((t, 0.0) for t in rules.replaced), *vocab]:
      piece_type = CONTROL if token in control_tokens else NORMAL
      piece_type = UNKNOWN if token == rules.unknown else piece_type
      piece_type = BYTE if token in byte_tokens else piece_type
      if piece_type == UNKNOWN:
        model.trainer_spec.unk_id = len(model.pieces)
      model.pieces.add(piece=token, score=score, type=piece_type)
    flat = flat_values(values)
    albert_steps_name = albert_normalizer_of(values)
    name, key = flat["normalizer.type"], "normalizer.precompiled_charsmap"
    if name in UNIGRAM_STEPS or albert_steps_name:
      model.normalizer_spec.name = albert_steps_name or name
      flat = {key: "", **flat}
    charsmap = base64.b64decode(flat[key], validate=True)
  except (ValueError, KeyError, TypeError) as error:
    raise ValueError(
      f"{source}: vocab or precompiled_charsmap are not those of a Unigram "
      f"model of {family} ({error}). Use the file that belongs to the model."
    ) from error
  model.normalizer_spec.precompiled_charsmap = charsmap
  return sentence_pieces(model.SerializeToString(), family, source)


def _fallback_tokens(model, vocab):
  """Returns the byte tokens that replace characters which are no tokens.

  The set is empty if such characters become the unknown token.
  """
  if not model.get("byte_fallback"):
    return set()
  byte_tokens = {*BYTE_TOKENS} & vocab.keys()
  if byte_tokens and len(byte_tokens) < len(BYTE_TOKENS):
    token = next(token for token in BYTE_TOKENS if token not in vocab)
    raise ValueError(f"byte_fallback is true, but {token} is no token")
  return byte_tokens


def added_token_objects(vocabulary):
  """Returns a vocabulary's added tokens as the tokenizers library's objects."""
  ids = {token: i for i, token in enumerate(vocabulary.tokens)}
  _, added_tokens = split_vocabulary(vocabulary)
  return [
    {"id": ids[token.content], **token._asdict(), "special": False}
    for token in sorted(added_tokens, key=lambda token: ids[token.content])
  ]


def json_of_sentence_pieces(vocabulary):
  """Returns the values of a tokenizer.json for `SentencePieces`.

  transformers reads it rather than the SentencePiece model beside it.

  Args:
    vocabulary: `SentencePieces`, or an `ExtendedVocabulary` of them.

  Raises:
    ValueError: a tokenizer.json cannot give the tokens of the model.
  """
  added_objects = added_token_objects(vocabulary)
  vocabulary, _ = split_vocabulary(vocabulary)
  family = PIECE_FAMILIES[vocabulary.family]
  model, tokens = parse_model(vocabulary.proto), vocabulary.tokens
  charsmap = model.normalizer_spec.precompiled_charsmap
  # Steps before and after the map of characters.
  first_steps, last_steps = [], []
  if vocabulary.family == "albert":
    first_steps = albert_steps(steps_of(model))
  else:
    last_steps = UNIGRAM_STEPS[steps_of(model) or "Replace Replace"]
  if charsmap:
    charsmap = base64.b64encode(charsmap).decode()
    step = {"type": "Precompiled", "precompiled_charsmap": charsmap}
    first_steps = [*first_steps, step]
  pieces = model.pieces[len(family.replaced) :]
  scores = [0.0] * len(family.first) + [piece.score for piece in pieces]
  scores += [0.0] * (len(tokens) - len(scores))  # the mask
  special = [family.cls, family.sep, family.pad, family.unknown, family.mask]
  ids = {token: tokens.index(token) for token in special}
  # Families with one separator have segments, those with two have none.
  segment = 2 - family.num_separators

  def item(token, type_id=0):
    item_type = "Sequence" if token in "AB" else "SpecialToken"
    return {item_type: {"id": token, "type_id": type_id}}

  single = [item(family.cls), item("A"), item(family.sep)]
  second = [item("B", segment), item(family.sep, segment)]
  flags = dict.fromkeys(
    ("single_word", "lstrip", "rstrip", "normalized"), False
  )
  blanks = {
    "type": "Metaspace",
    "replacement": BLANK,
    "prepend_scheme": "always",
  }
  pre_tokenizer = blanks
  if vocabulary.family == "albert":
    words = [{"type": "WhitespaceSplit"}, blanks]
    pre_tokenizer = {"type": "Sequence", "pretokenizers": words}
  values = {
    "version": "1.0",
    "truncation": None,
    "padding": None,
    "added_tokens": [
      {"id": ids[token], "content": token, **flags, "special": True}
      for token in sorted(special, key=ids.get)
    ]
    + added_objects,
    "normalizer": {"type": "Sequence", "normalizers": first_steps + last_steps},
    "pre_tokenizer": pre_tokenizer,
    "post_processor": {
      "type": "TemplateProcessing",
      "single": single,
      "pair": [*single, *[item(family.sep)] * (1 - segment), *second],
      "special_tokens": {
        token: {"id": token, "ids": [ids[token]], "tokens": [token]}
        for token in (family.cls, family.sep)
      },
    },
    "decoder": blanks,
    "model": {
      "type": "Unigram",
      "unk_id": ids[family.unknown],
      "vocab": list(zip(tokens, scores, strict=True)),
      "byte_fallback": model.trainer_spec.byte_fallback,
    },
  }
  _check_same_tokens(values, vocabulary)
  return values


def json_of_modernbert_pairs(vocabulary):
  """Returns the values of a tokenizer.json for `ModernBertPairs`.

  Special tokens are among its added tokens.

  Args:
    vocabulary: `ModernBertPairs`, or an `ExtendedVocabulary` of them.
  """
  added_objects = added_token_objects(vocabulary)
  (_, merges), _ = split_vocabulary(vocabulary)
  ids = {token: i for i, token in enumerate(vocabulary.tokens)}
  for token in SPECIAL_TOKENS[NFC_PAIRS] & ids.keys():
    flags = dict.fromkeys(AddedToken._fields[1:], False)
    flags["lstrip"] = token == "[MASK]"
    content = {"id": ids[token], "content": token}
    added_objects.append({**content, **flags, "special": True})
  added_objects.sort(key=lambda token: token["id"])
  # An added token is in the model's vocabulary only if merges give it.
  model_tokens = ids.keys() - {token["content"] for token in added_objects}
  model_tokens |= tokens_of_merges(merges)
  byte_level = {
    "type": "ByteLevel",
    "add_prefix_space": False,
    "trim_offsets": True,
    "use_regex": True,
  }
  cls, sep = ({"SpecialToken": {"id": t, "type_id": 0}} for t in _CLS_AND_SEP)
  first, second = ({"Sequence": {"id": t, "type_id": 0}} for t in "AB")
  return {
    "version": "1.0",
    "truncation": None,
    "padding": None,
    "added_tokens": added_objects,
    "normalizer": {"type": "NFC"},
    "pre_tokenizer": byte_level,
    "post_processor": {
      "type": "TemplateProcessing",
      "single": [cls, first, sep],
      "pair": [cls, first, sep, second, sep],
      "special_tokens": {
        token: {"id": token, "ids": [ids[token]], "tokens": [token]}
        for token in _CLS_AND_SEP
      },
    },
    "decoder": byte_level,
    "model": {
      "type": "BPE",
      "dropout": None,
      "unk_token": None,
      "continuing_subword_prefix": None,
      "end_of_word_suffix": None,
      "fuse_unk": False,
      "byte_fallback": False,
      "ignore_merges": False,
      "vocab": {token: i for token, i in ids.items() if token in model_tokens},
      "merges": [merge.split(" ") for merge in merges],
    },
  }


def _check_same_tokens(values, vocabulary):
  """Refuses a tokenizer.json that gives other tokens than `SentencePieces`."""
  source = "The tokenizer.json of these SentencePieces"
  check_json(values, source)
  family = PIECE_FAMILIES[vocabulary.family]
  pieces_read = sentence_pieces_of_json(values, vocabulary.family, source)
  settings, settings_read = (
    _token_settings(parse_model(pieces.proto), family)
    for pieces in (vocabulary, pieces_read)
  )
  changed = [n for n, value in settings.items() if settings_read[n] != value]
  if any(BLANK in token.lstrip(BLANK) for token in vocabulary.tokens):
    changed.append("pieces of several words")
  if changed:
    raise ValueError(
      f"A tokenizer.json cannot hold {', '.join(changed)} of these "
      "SentencePieces, so transformers would find other tokens. Use the model "
      "here, or train a Unigram model with SentencePiece's defaults."
    )


def _token_settings(model, family):
  """Returns, by name, the values of a `ModelProto` that change its tokens."""
  spec, trainer = model.normalizer_spec, model.trainer_spec
  pieces = [
    (piece.piece, piece.type, piece.score if piece.type == NORMAL else 0.0)
    for piece in model.pieces
  ]
  if pieces[-1][0] == family.mask:
    del pieces[-1]
  return {
    "the model_type": trainer.model_type,
    "byte_fallback": trainer.byte_fallback,
    "add_dummy_prefix": spec.add_dummy_prefix,
    "remove_extra_whitespaces": spec.remove_extra_whitespaces,
    "the pieces": pieces,
  }
