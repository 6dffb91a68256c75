"""WordPieces with byte offsets, by ops that TFLite has.

TFLite has no regular expressions and no Unicode: of the ops of
`WordPieceTokenizer` only FastWordpieceTokenizeWithOffsets remains. That layer
normalizes a character independently of its neighbours, except a final capital
sigma. So it normalizes every character once, here, and in the file
FastBertNormalize replaces characters by this table.

There are two tables, because a dropped mark belongs to the token before it and
a dropped control character does not.

    text       É  t  U+0301  U+200B  .        bytes 0 2 3 5 8
    folded     e  t          U+200B  .        É becomes e, the mark is dropped
    cleaned    e  t                  .
    tokens     [---------)           [-)      bytes 0 to 5 and 8 to 9
"""

import itertools

import flatbuffers
import numpy as np
import tensorflow as tf
import tensorflow_text as tf_text

from bert_span.text.tokenizer import Tokens, one_row

# Custom ops of tensorflow-text that a TFLite file needs for this tokenizer.
CUSTOM_OPS = (
  "FastBertNormalize",
  "FastWordpieceTokenizeWithOffsets",
  "TFText>ByteSplitWithOffsets",
)
# Planes 0 to 3 of Unicode, without surrogates, and 14. The other planes are
# unassigned or for private use.
_CODE_POINTS = np.r_[0:0xD800, 0xE000:0x40000, 0xE0000:0xF0000].astype(np.int32)
# Of the trie of a normalizer, see `double_array`.
_HAS_VALUE = 1 << 8
_IS_VALUE = 1 << 31
_ROOT_BASE = 256
# Later bytes of a UTF-8 character have 64 values, 0x80 to 0xBF.
_BLOCK = 64


class ByteTokenizer:
  """A `WordPieceTokenizer` with offsets in bytes, for valid UTF-8.

  Tokens are the same, except at a capital sigma at the end of a word, which
  `WordPieceTokenizer` lower-cases to the other small sigma.
  """

  def __init__(self, tokenizer):
    self._fold, self._drop = (
      tf_text.FastBertNormalizer(model_buffer=normalizer_model(table))
      for table in character_tables(tokenizer)
    )
    self._tokenizer = tokenizer
    self._bytes = tf_text.ByteSplitter()

  def __call__(self, text):
    """Returns the `Tokens` of one text, string [1], with offsets in bytes."""
    folded, fold_offsets = _normalized(self._fold, text)
    cleaned, offsets = _normalized(self._drop, folded)
    ids, starts, ends = (
      part.flat_values
      for part in self._tokenizer.wordpiece.tokenize_with_offsets(cleaned)
    )
    values = self.bytes_of(cleaned)
    begins = (values < 0x80) | (values > 0xBF)  # Others continue a character.
    ids, starts, ends = self._tokenizer.unknown_long_words(
      ids, *(tf.cast(part, tf.int32) for part in (starts, ends, begins))
    )
    starts = tf.gather(fold_offsets, tf.gather(offsets, starts))
    # The last byte: bytes are dropped or kept in `cleaned`, not replaced.
    last = tf.gather(offsets, ends - 1)
    ends = tf.gather(_next_offsets(fold_offsets), last)
    return Tokens(*(one_row(part) for part in (ids, starts, ends)))

  def bytes_of(self, text):
    """Returns the bytes of one text, string [1], as int32 [bytes]."""
    return tf.cast(self._bytes.split(text).flat_values, tf.int32)


def character_tables(tokenizer):
  """Returns how a `WordPieceTokenizer` normalizes characters.

  Two dicts of character to text: characters that are replaced, marks by "", and
  other characters that are dropped.
  """
  texts = tf.strings.unicode_encode(_CODE_POINTS[:, np.newaxis], "UTF-8")
  found = tokenizer.normalized_characters(texts)  # one of each text
  columns = [x.numpy() for x in (texts, found.normalized, found.is_mark)]
  folded, dropped = {}, {}
  for text, normalized, is_mark in zip(*columns, strict=True):
    if text != normalized:
      table = folded if normalized or is_mark else dropped
      table[text.decode()] = normalized.decode()
  return folded, dropped


def _normalized(normalizer, text):
  """Normalizes a text; returns it and int32 [bytes + 1], their origins."""
  normalized, offsets = normalizer.normalize_with_offsets(text)
  return normalized, tf.cast(offsets.flat_values, tf.int32)


def _next_offsets(offsets):
  """Returns for each byte the next greater offset: 0 2 2 5 7 gives 2 5 5 7."""
  is_new = tf.not_equal(offsets[1:], offsets[:-1])  # [bytes]
  distinct = tf.boolean_mask(offsets[1:], is_new)
  index = tf.cumsum(tf.cast(is_new, tf.int32), exclusive=True)
  return tf.gather(distinct, index)


def normalizer_model(replacements):
  """Compiles the `model_buffer` of `tensorflow_text.FastBertNormalizer`, bytes.

  tensorflow-text has two models only, which normalize by NFKC and replace
  control characters by spaces. A model is a FlatBuffer,

      field  1  trie_array              uint32 [units]
             2  data_for_codepoint_zero int32
             3  normalized_string_pool  uint8 [bytes], all replacements

  whose trie maps the UTF-8 bytes of a character to its replacement: bit 30 is
  set, then 24 bits of offset into the pool and 6 bits of length.

  `replacements` maps a character to at most 63 bytes; "" drops it.
  """
  pool, values = bytearray(), {}
  for text in dict.fromkeys(replacements.values()):
    encoded = text.encode("utf-8")
    values[text] = 1 << 30 | len(pool) << 6 | len(encoded)
    pool += encoded
  # The trie cannot contain U+0000, whose only byte would end a key.
  keys = {
    character.encode("utf-8"): values[text]
    for character, text in replacements.items()
    if character != "\0"
  }
  builder = flatbuffers.Builder(1024)
  trie = builder.CreateNumpyVector(double_array(keys))
  # At least one byte: the reader takes the address of the first one.
  strings = builder.CreateNumpyVector(np.frombuffer(pool or b" ", np.uint8))
  builder.StartObject(4)
  builder.PrependUOffsetTRelativeSlot(1, trie, 0)
  builder.PrependInt32Slot(2, values.get(replacements.get("\0"), 0), 0)
  builder.PrependUOffsetTRelativeSlot(3, strings, 0)
  builder.Finish(builder.EndObject())
  return bytes(builder.Output())


def double_array(values):
  """Builds the trie of a dict of characters, bytes, to int below 2**31.

  It is a double array as Darts-clone defines it. From a node at position p with
  base b the byte c leads to position b ^ c, whose unit has the label c; a unit
  stores p ^ b, not b. With the only key "A" (65), value v, and bases 256 and 1:

      position 0    (0 ^ 256) << 10                    the root
      position 321  (321 ^ 1) << 10 | HAS_VALUE | 65   321 = 256 ^ 65
      position 1    IS_VALUE | v

  U+0000 must not be among them. The result, uint32 [units], is a multiple of
  256 long, so that no byte leads outside.
  """
  # The texts that lead to a key; each has its own base.
  nodes = sorted({key[:size] for key in values for size in range(1, len(key))})
  bases = {b"": _ROOT_BASE}
  for index, node in enumerate(nodes):
    bases[node] = _ROOT_BASE + 256 + _BLOCK * index
  positions = {b"": 0}
  for text in (*nodes, *values):
    positions[text] = bases[text[:-1]] ^ text[-1]
  taken = {*positions.values(), *bases.values()}
  free = (position for position in itertools.count(1) if position not in taken)
  # The root's block, too, is in the array if there are no keys: a reader looks
  # into it, and beyond the array are other bytes.
  units = {_ROOT_BASE: 0}
  for text, position in positions.items():
    unit = text[-1] if text else 0
    if text in values:
      base = next(free)
      unit |= _HAS_VALUE
      units[base] = _IS_VALUE | values[text]
    else:
      base = bases[text]
    units[position] = (position ^ base) << 10 | unit
  array = np.zeros(-(-(max(units) + 1) // 256) * 256, np.uint32)
  array[list(units)] = list(units.values())
  return array
