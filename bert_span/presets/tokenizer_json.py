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
  """The `SentencePieces` of a tokenizer.json with a Unigram model.

  It has the tokens by id with their scores, and the map of characters.
  """
  of_family = PIECE_FAMILIES.get(family, PieceFamily((), ()))
  first, special = (
    of_family.first,
    (of_family.cls, of_family.sep, of_family.pad, of_family.mask),
  )
  model = ModelProto()
  try:
    vocab = [(token, float(score)) for token, score in values["model"]["vocab"]]
    begin = tuple(token for token, _ in vocab[: len(first)])
    if begin != first:
      raise ValueError(f"it begins with {begin}, not {first}")
    vocab = vocab[len(first) :]
    if vocab and vocab[-1][0] == of_family.mask:
      del vocab[-1]
    of_bytes = _of_bytes(values["model"], dict(vocab))
    model.trainer_spec.byte_fallback = bool(of_bytes)
    for token, score in [*((t, 0.0) for t in of_family.replaced), *vocab]:
      kind = CONTROL if token in special else NORMAL
      kind = UNKNOWN if token == of_family.unknown else kind
      kind = BYTE if token in of_bytes else kind
      if kind == UNKNOWN:
        model.trainer_spec.unk_id = len(model.pieces)
      model.pieces.add(piece=token, score=score, type=kind)
    flat = flat_values(values)
    albert = albert_normalizer_of(values)
    name, key = flat["normalizer.type"], "normalizer.precompiled_charsmap"
    if name in UNIGRAM_STEPS or albert:
      model.normalizer_spec.name = albert or name
      flat = {key: "", **flat}
    charsmap = base64.b64decode(flat[key], validate=True)
  except (ValueError, KeyError, TypeError) as error:
    raise ValueError(
      f"{source}: vocab or precompiled_charsmap are not those of a Unigram "
      f"model of {family} ({error}). Use the file that belongs to the model."
    ) from error
  model.normalizer_spec.precompiled_charsmap = charsmap
  return sentence_pieces(model.SerializeToString(), family, source)


def _of_bytes(model, vocab):
  """The tokens of bytes that a Unigram model of tokenizer.json falls back to.

  Without them, characters that it does not have are unknown.
  """
  found = {*BYTE_TOKENS} & vocab.keys() if model.get("byte_fallback") else set()
  if found and len(found) < len(BYTE_TOKENS):
    missing = next(token for token in BYTE_TOKENS if token not in vocab)
    raise ValueError(f"byte_fallback is true, but {missing} is no token")
  return found


def added_token_objects(vocabulary):
  """The added tokens of a vocabulary, as the tokenizers library writes them."""
  ids = {token: i for i, token in enumerate(vocabulary.tokens)}
  _, added = split_vocabulary(vocabulary)
  return [
    {"id": ids[token.content], **token._asdict(), "special": False}
    for token in sorted(added, key=lambda token: ids[token.content])
  ]


def json_of_sentence_pieces(vocabulary):
  """The values of a tokenizer.json of `SentencePieces` and added tokens.

  transformers reads it rather than the model's file.

  Raises:
    ValueError: its tokens cannot be those of the model.
  """
  added = added_token_objects(vocabulary)
  vocabulary, _ = split_vocabulary(vocabulary)
  family = PIECE_FAMILIES[vocabulary.family]
  model, tokens = parse_model(vocabulary.proto), vocabulary.tokens
  charsmap = model.normalizer_spec.precompiled_charsmap
  before, normalizers = [], []
  if vocabulary.family == "albert":
    before = albert_steps(steps_of(model))
  else:
    normalizers = UNIGRAM_STEPS[steps_of(model) or "Replace Replace"]
  if charsmap:
    charsmap = base64.b64encode(charsmap).decode()
    step = {"type": "Precompiled", "precompiled_charsmap": charsmap}
    before = [*before, step]
  pieces = model.pieces[len(family.replaced) :]
  scores = [0.0] * len(family.first) + [each.score for each in pieces]
  scores += [0.0] * (len(tokens) - len(scores))  # the mask
  special = [family.cls, family.sep, family.pad, family.unknown, family.mask]
  ids = {token: tokens.index(token) for token in special}
  # As `PieceFamily.num_separators`: segments, or a second separator.
  segment = 2 - family.num_separators

  def item(token, type_id=0):
    kind = "Sequence" if token in "AB" else "SpecialToken"
    return {kind: {"id": token, "type_id": type_id}}

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
    + added,
    "normalizer": {"type": "Sequence", "normalizers": before + normalizers},
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
  """The values of a tokenizer.json of `ModernBertPairs`, with added tokens.

  Its special tokens are added ones there.
  """
  added = added_token_objects(vocabulary)
  (_, merges), _ = split_vocabulary(vocabulary)
  ids = {token: i for i, token in enumerate(vocabulary.tokens)}
  for token in SPECIAL_TOKENS[NFC_PAIRS] & ids.keys():
    flags = dict.fromkeys(AddedToken._fields[1:], False)
    flags["lstrip"] = token == "[MASK]"
    content = {"id": ids[token], "content": token}
    added.append({**content, **flags, "special": True})
  added.sort(key=lambda token: token["id"])
  # Those that no merge gives are never found in a text.
  of_words = ids.keys() - {token["content"] for token in added}
  of_words |= tokens_of_merges(merges)
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
    "added_tokens": added,
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
      "vocab": {token: i for token, i in ids.items() if token in of_words},
      "merges": [merge.split(" ") for merge in merges],
    },
  }


def _check_same_tokens(values, vocabulary):
  """Raises ValueError if a tokenizer.json has lost what gives its tokens."""
  source = "The tokenizer.json of these SentencePieces"
  check_json(values, source)
  family = PIECE_FAMILIES[vocabulary.family]
  read = sentence_pieces_of_json(values, vocabulary.family, source)
  found, kept = (
    _what_gives_tokens(parse_model(each.proto), family)
    for each in (vocabulary, read)
  )
  lost = [name for name, value in found.items() if kept[name] != value]
  if any(BLANK in each.lstrip(BLANK) for each in vocabulary.tokens):
    lost.append("pieces of several words")
  if lost:
    raise ValueError(
      f"A tokenizer.json cannot have {', '.join(lost)} of these SentencePieces "
      "as they are, so transformers would find other tokens. Use the model "
      "here, or train one with a Unigram model of SentencePiece's defaults."
    )


def _what_gives_tokens(model, family):
  """The values of a `ModelProto` on which its tokens depend, by name."""
  spec, trainer = model.normalizer_spec, model.trainer_spec
  pieces = [
    (each.piece, each.type, each.score if each.type == NORMAL else 0.0)
    for each in model.pieces
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
