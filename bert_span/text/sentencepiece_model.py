"""SentencePiece models, and the ids that families of encoders give to pieces.

A model is a protocol buffer. The Python module of sentencepiece_model.proto
needs a certain protobuf, so its messages are declared here, with the fields
that are used; others are kept.

Source: google/sentencepiece, src/sentencepiece_model.proto.
"""

import base64
import dataclasses
import hashlib
import re
from typing import NamedTuple
from unittest import mock

from google.protobuf import (
  descriptor_pb2,
  descriptor_pool,
  message,
  message_factory,
)

from bert_span.text.tokenizer_keys import (
  UNIGRAM_STEPS,
  check_json,
  flat_values,
)

# Types of a piece, and of a model.
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6
BPE = 2
# With byte_fallback, a character that is not in the vocabulary has the tokens
# of its bytes.
_BYTE_PIECES = [f"<0x{byte:02X}>" for byte in range(256)]
# Characters of a piece. The op ends the process with some 200,000.
_MAX_PIECE = 1_000
# The character for a blank in pieces.
BLANK = "\u2581"

_PACKAGE = "bert_span.sentencepiece"
# Fields of each message: name, number, type, default.
_MESSAGES = {
  "Piece": [
    ("piece", 1, "STRING", ""),
    ("score", 2, "FLOAT", "0"),
    ("type", 3, "INT32", "1"),
  ],
  "TrainerSpec": [
    ("model_type", 3, "INT32", "1"),  # Unigram
    ("treat_whitespace_as_suffix", 24, "BOOL", "false"),
    ("byte_fallback", 35, "BOOL", "false"),
    ("unk_id", 40, "INT32", "0"),
  ],
  "NormalizerSpec": [
    ("name", 1, "STRING", ""),
    ("precompiled_charsmap", 2, "BYTES", ""),
    ("add_dummy_prefix", 3, "BOOL", "true"),
    ("remove_extra_whitespaces", 4, "BOOL", "true"),
    ("escape_whitespaces", 5, "BOOL", "true"),
  ],
  "ModelProto": [
    ("pieces", 1, "Piece", None),
    ("trainer_spec", 2, "TrainerSpec", None),
    ("normalizer_spec", 3, "NormalizerSpec", None),
  ],
}
# `SentencePieceTokenizer` expects blanks as these values give them.
_SETTINGS = {
  "trainer_spec": {"treat_whitespace_as_suffix": False},
  "normalizer_spec": {"escape_whitespaces": True},
}


@dataclasses.dataclass(frozen=True)
class PieceFamily:
  """The tokens of a family of encoders, in the order of their ids.

  They are `first`, the model's pieces except `replaced`, and `mask`.
  """

  first: tuple[str, ...]
  replaced: tuple[str, ...]  # the first pieces of the model
  cls: str = "<s>"
  sep: str = "</s>"
  pad: str = "<pad>"
  unknown: str = "<unk>"
  mask: str = "<mask>"
  num_separators: int = 2  # between question and passage
  file_name: str = "sentencepiece.bpe.model"  # in a Hugging Face directory

  @property
  def special_tokens(self):
    """Special tokens by their names in Hugging Face's tokenizer_config.json."""
    return {
      "bos_token": self.cls,
      "eos_token": self.sep,
      "cls_token": self.cls,
      "sep_token": self.sep,
      "unk_token": self.unknown,
      "pad_token": self.pad,
      "mask_token": self.mask,
    }

  def tokens(self, pieces):
    """Returns the list of tokens of a list of pieces, all str."""
    tokens = [*self.first, *pieces[len(self.replaced) :]]
    # KerasHub's DeBERTa models may have [MASK] among the pieces.
    return tokens if self.mask in tokens else [*tokens, self.mask]


# By their names in Hugging Face's config.json.
PIECE_FAMILIES = {
  # Fairseq's first four tokens; Conneau et al. 2020, arXiv 1911.02116.
  "xlm-roberta": PieceFamily(
    ("<s>", "<pad>", "</s>", "<unk>"), ("<unk>", "<s>", "</s>")
  ),
  # The model's <s> and </s> are used, fairseq's are not; Martin et al. 2020,
  # arXiv 1911.03894.
  "camembert": PieceFamily(
    ("<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED"), ("<unk>",)
  ),
  # He et al. 2023, arXiv 2111.09543.
  "deberta-v2": PieceFamily(
    (),
    (),
    *("[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]"),
    num_separators=1,
    file_name="spm.model",
  ),
}


class SentencePieces(NamedTuple):
  """The arguments of a `SentencePieceTokenizer`: its vocabulary."""

  model: str  # the serialized ModelProto, in base64
  family: str

  @property
  def tokens(self):
    """List of tokens; the index is the id."""
    pieces = [each.piece for each in parse_model(self.proto).pieces]
    return PIECE_FAMILIES[self.family].tokens(pieces)

  @property
  def proto(self):
    """The bytes of the model's file."""
    return base64.b64decode(self.model)


def sentence_pieces(proto, family, source):
  """Reads a model's bytes as `SentencePieces`; errors name its `source`.

  Raises:
    ValueError: the bytes are no SentencePiece model, or it lacks pieces that
      `family` needs.
  """
  if family not in PIECE_FAMILIES:
    raise ValueError(
      f"{source} is a SentencePiece model. Its ids are known for "
      f"{', '.join(PIECE_FAMILIES)}. Received: {family}. Use the vocabulary "
      "that belongs to the encoder, or give the directory of such a model."
    )
  model = parse_model(proto, source)
  rules = PIECE_FAMILIES[family]
  pieces = [each.piece for each in model.pieces]
  begin = tuple(pieces[: len(rules.replaced)])
  special = (rules.cls, rules.sep, rules.pad, rules.unknown)
  missing = sorted({*special} - {*rules.tokens(pieces)})
  if begin != rules.replaced or missing:
    raise ValueError(
      f"{source}: a model for {family} must begin with the pieces "
      f"{rules.replaced}, and have {special} among its tokens. Received: "
      f"{pieces[:4]}, without {missing}. Use the model of the encoder."
    )
  import tensorflow as tf  # Half of the time of a program's --help.

  try:
    piece_ops(proto)
  except tf.errors.OpError as error:
    reason = re.sub(r"^\{\{.*?\}\} *| *\[Op:.*", "", error.message)
    raise ValueError(
      f"{source} cannot be used: {reason:.200} Use the SentencePiece model of "
      "the encoder."
    ) from error
  return SentencePieces(base64.b64encode(proto).decode(), family)


def piece_ops(proto):
  """Returns tensorflow-text's tokenizer of the bytes of a model.

  The model gets a shared name. A model without one is dropped with TensorFlow's
  caches, for instance by keras.utils.set_random_seed.
  """
  import tensorflow_text as tf_text  # Late, as in `sentence_pieces`.
  from tensorflow_text.python.ops import sentencepiece_tokenizer

  def create(self):
    name = hashlib.sha256(self._model).hexdigest()
    return sentencepiece_tokenizer.gen_sentencepiece_tokenizer.sentencepiece_op(
      model=self._model, shared_name=name
    )

  resource = sentencepiece_tokenizer._SentencepieceModelResource
  with mock.patch.object(resource, "_create_resource", create):
    return tf_text.SentencepieceTokenizer(proto)


def sentence_pieces_of_json(values, family, source):
  """Reads the values of a Unigram model's tokenizer.json as `SentencePieces`.

  The file has the tokens with their scores by id, and the map of characters.
  """
  rules = PIECE_FAMILIES.get(family, PieceFamily((), ()))
  first, special = (
    rules.first,
    (rules.cls, rules.sep, rules.pad),
  )
  model = ModelProto()
  try:
    vocab = [(token, float(score)) for token, score in values["model"]["vocab"]]
    begin = tuple(token for token, _ in vocab[: len(first)])
    if begin != first:
      raise ValueError(f"it begins with {begin}, not {first}")
    vocab = vocab[len(first) :]
    if vocab and vocab[-1][0] == rules.mask:
      del vocab[-1]
    byte_pieces = _used_byte_pieces(values["model"], dict(vocab))
    model.trainer_spec.byte_fallback = bool(byte_pieces)
    for token, score in [*((t, 0.0) for t in rules.replaced), *vocab]:
      piece_type = CONTROL if token in special else NORMAL
      piece_type = UNKNOWN if token == rules.unknown else piece_type
      piece_type = BYTE if token in byte_pieces else piece_type
      if piece_type == UNKNOWN:
        model.trainer_spec.unk_id = len(model.pieces)
      model.pieces.add(piece=token, score=score, type=piece_type)
    flat = flat_values(values)
    name = flat["normalizer.type"]
    if name in UNIGRAM_STEPS:
      model.normalizer_spec.name, charsmap = name, b""
    else:
      charsmap = flat["normalizer.precompiled_charsmap"]
      charsmap = base64.b64decode(charsmap, validate=True)
  except (ValueError, KeyError, TypeError) as error:
    raise ValueError(
      f"{source}: vocab or precompiled_charsmap are not those of a Unigram "
      f"model of {family} ({error}). Use the file that belongs to the model."
    ) from error
  model.normalizer_spec.precompiled_charsmap = charsmap
  return sentence_pieces(model.SerializeToString(), family, source)


def _used_byte_pieces(model, vocab):
  """Returns the pieces of single bytes that a Unigram model falls back to.

  Without them, characters that it does not have are unknown.
  """
  has_fallback = model.get("byte_fallback")
  pieces = {*_BYTE_PIECES} & vocab.keys() if has_fallback else set()
  if pieces and len(pieces) < len(_BYTE_PIECES):
    missing = next(token for token in _BYTE_PIECES if token not in vocab)
    raise ValueError(f"byte_fallback is true, but {missing} is no token")
  return pieces


def json_of_sentence_pieces(vocabulary):
  """Returns `SentencePieces` as the values of a tokenizer.json.

  transformers prefers this file to the SentencePiece model.

  Raises:
    ValueError: a tokenizer.json would not give the model's tokens.
  """
  family = PIECE_FAMILIES[vocabulary.family]
  model, tokens = parse_model(vocabulary.proto), vocabulary.tokens
  charsmap = model.normalizer_spec.precompiled_charsmap
  normalizers = UNIGRAM_STEPS[steps_of(model) or "Replace Replace"]
  if charsmap:
    charsmap = base64.b64encode(charsmap).decode()
    step = {"type": "Precompiled", "precompiled_charsmap": charsmap}
    normalizers = [step, *normalizers]
  pieces = model.pieces[len(family.replaced) :]
  scores = [0.0] * len(family.first) + [each.score for each in pieces]
  scores += [0.0] * (len(tokens) - len(scores))  # the mask
  special = [family.cls, family.sep, family.pad, family.unknown, family.mask]
  ids = {token: tokens.index(token) for token in special}
  # A family has segments, or a second separator; see `num_separators`.
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
  values = {
    "version": "1.0",
    "truncation": None,
    "padding": None,
    "added_tokens": [
      {"id": ids[token], "content": token, **flags, "special": True}
      for token in sorted(special, key=ids.get)
    ],
    "normalizer": {"type": "Sequence", "normalizers": normalizers},
    "pre_tokenizer": blanks,
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


def _check_same_tokens(values, vocabulary):
  """Raises ValueError if a tokenizer.json would give other tokens."""
  source = "The tokenizer.json of these SentencePieces"
  check_json(values, source)
  family = PIECE_FAMILIES[vocabulary.family]
  read = sentence_pieces_of_json(values, vocabulary.family, source)
  expected, actual = (
    _token_settings(parse_model(each.proto), family)
    for each in (vocabulary, read)
  )
  lost = [name for name, value in expected.items() if actual[name] != value]
  if any(BLANK in each.lstrip(BLANK) for each in vocabulary.tokens):
    lost.append("pieces of several words")
  if lost:
    raise ValueError(
      f"A tokenizer.json cannot have {', '.join(lost)} of these SentencePieces "
      "as they are, so transformers would find other tokens. Use the model "
      "here, or train one with a Unigram model of SentencePiece's defaults."
    )


def _token_settings(model, family):
  """Returns a `ModelProto`'s values on which its tokens depend, by name."""
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


def steps_of(model):
  """Returns the name of a model's `UNIGRAM_STEPS`; None for SentencePiece's."""
  name = model.normalizer_spec.name
  return name if name in [*UNIGRAM_STEPS][1:] else None


def parse_model(proto, source="the vocabulary"):
  """Returns the `ModelProto` of bytes; ValueError if it cannot be used."""
  remedy = "Use the SentencePiece model of the encoder."
  try:
    model = ModelProto.FromString(proto)
  except message.DecodeError as error:
    raise ValueError(
      f"{source} cannot be read as a SentencePiece model: {error}. {remedy}"
    ) from error
  if not model.pieces:
    raise ValueError(f"{source} has no pieces. {remedy}")
  longest = max((each.piece for each in model.pieces), key=len)
  if len(longest) > _MAX_PIECE:
    raise ValueError(
      f"{source}: a piece can have {_MAX_PIECE:,} characters. Received one of "
      f"{len(longest):,}: {longest:.20}... {remedy}"
    )
  for part, values in _SETTINGS.items():
    for name, value in values.items():
      received = getattr(getattr(model, part), name)
      if received != value:
        raise ValueError(
          f"{source}: {name} must be {value}. Received: {received}. Use "
          "another model."
        )
  return model


def _model_class():
  """Makes the class of the message ModelProto."""
  file = descriptor_pb2.FileDescriptorProto(name=_PACKAGE, package=_PACKAGE)
  for name, fields in _MESSAGES.items():
    declared = file.message_type.add(name=name)
    for field, number, field_type, default in fields:
      added = declared.field.add(name=field, number=number)
      is_list = field == "pieces"
      added.label = added.LABEL_REPEATED if is_list else added.LABEL_OPTIONAL
      if field_type in _MESSAGES:
        added.type = added.TYPE_MESSAGE
        added.type_name = f".{_PACKAGE}.{field_type}"
      else:
        added.type = getattr(added, f"TYPE_{field_type}")
        added.default_value = default
  pool = descriptor_pool.DescriptorPool()
  pool.Add(file)
  descriptor = pool.FindMessageTypeByName(f"{_PACKAGE}.ModelProto")
  return message_factory.GetMessageClass(descriptor)


ModelProto = _model_class()
