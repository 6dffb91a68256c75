"""SentencePiece models, and the ids that families of encoders give to pieces.

A model is a protocol buffer. The Python module of sentencepiece_model.proto
needs a certain protobuf, so its messages are declared here, with the fields
that are used; others are kept.

Source: google/sentencepiece, src/sentencepiece_model.proto.
"""

import base64
import dataclasses
import hashlib
import itertools
import re
import types
from typing import NamedTuple
from unittest import mock

from google.protobuf import (
  descriptor_pb2,
  descriptor_pool,
  message,
  message_factory,
)

# Types of a piece, and of a model.
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = 1, 2, 3, 4, 6
BPE, CHARACTERS = 2, 4
# With byte_fallback, a character that is not in the vocabulary has the tokens
# of its bytes.
BYTE_TOKENS = [f"<0x{byte:02X}>" for byte in range(256)]


def albert_normalizer(lower_case=True, keeps_accents=False):
  """The name of what normalizes a text before an ALBERT's model does."""
  accents = () if keeps_accents else ("NFKD", "StripAccents")
  return " ".join(["Quotes", *accents, *(["Lowercase"] if lower_case else [])])


ALBERT_NORMALIZERS = tuple(
  albert_normalizer(*rules)
  for rules in itertools.product((True, False), (False, True))
)
# What normalizes a text instead of a model, or before it, as its
# normalizer_spec names it: the steps of DeBERTa in transformers 4, and in
# transformers 5, and those of ALBERT.
NORMALIZERS = "Strip Replace", "Replace NFC Strip", *ALBERT_NORMALIZERS
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

  def tokens(self, pieces):
    """Returns the list of tokens of a list of pieces, all str."""
    tokens = [*self.first, *pieces[len(self.replaced) :]]
    # KerasHub's DeBERTa models may have [MASK] among the pieces.
    return tokens if self.mask in tokens else [*tokens, self.mask]


# By the names of the architectures that had them first.
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
  ),
  # Lan et al. 2019, arXiv 1909.11942.
  "albert": PieceFamily(
    (),
    (),
    *("[CLS]", "[SEP]", "<pad>", "<unk>", "[MASK]"),
    num_separators=1,
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

  @property
  def albert_rules(self):
    """Those of an ALBERT, by the names of transformers' arguments."""
    steps = steps_of(parse_model(self.proto)) or ""
    return {
      "do_lower_case": "Lowercase" in steps,
      "keep_accents": "StripAccents" not in steps,
    }

  def with_albert_rules(self, lower_case, keeps_accents):
    """Those of an ALBERT with other rules, see `albert_normalizer`."""
    model = parse_model(self.proto)
    model.normalizer_spec.name = albert_normalizer(lower_case, keeps_accents)
    content = base64.b64encode(model.SerializeToString()).decode()
    return self._replace(model=content)


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
  if family == "albert" and not steps_of(model):
    _add_albert_rules(model)
    proto = model.SerializeToString()
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


def _add_albert_rules(model):
  """Adds to an ALBERT's model what its tokenizer computes besides.

  A piece such as "1895," is two tokens, and a piece that the training gave,
  such as "(", may be part of others, as in a tokenizer.json of transformers.
  """
  model.normalizer_spec.name = albert_normalizer()
  for each in model.pieces:
    if each.piece[-1:] == "," and each.piece[-2:-1].isdigit():
      each.score -= 100
    if each.type == USER_DEFINED:
      is_mask = each.piece == PIECE_FAMILIES["albert"].mask
      each.type = CONTROL if is_mask else NORMAL


def piece_ops(proto):
  """Returns tensorflow-text's tokenizer of the bytes of a model.

  The model gets a shared name, in a SavedModel, too. A model without one is
  dropped with TensorFlow's caches, for instance by keras.utils.set_random_seed,
  and two of them in a SavedModel would be one.
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
    ops = tf_text.SentencepieceTokenizer(proto)
  ops._model_resource._create_resource = types.MethodType(
    create, ops._model_resource
  )
  return ops


def steps_of(model):
  """Which of the `NORMALIZERS` is before a model, None for its own."""
  name = model.normalizer_spec.name
  return name if name in NORMALIZERS else None


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
