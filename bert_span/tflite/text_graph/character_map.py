"""Compiles a table of characters for tensorflow-text's normalizer.

The op FastBertNormalize replaces characters by the table in its model, also in
TFLite. tensorflow-text has two models only, which normalize by NFKC and replace
control characters by spaces. This module makes a model of any table. It is a
FlatBuffer,

    field  1  trie_array              uint32 [units]
           2  data_for_codepoint_zero int32
           3  normalized_string_pool  uint8 [bytes], all replacements

whose trie maps the UTF-8 bytes of a character to its replacement: bit 30 is
set, then 24 bits of offset into the pool and 6 bits of length.

The trie is a double array as Darts-clone defines it. From a node at position p
with base b the byte c leads to position b ^ c, whose unit has the label c; a
unit stores p ^ b, not b. With the only key "A" (65), value v, and bases 256
and 1:

    position 0    (0 ^ 256) << 10                    the root
    position 321  (321 ^ 1) << 10 | HAS_VALUE | 65   321 = 256 ^ 65
    position 1    IS_VALUE | v
"""

import flatbuffers
import numpy as np

_IS_REPLACED = 1 << 30
_LENGTH_BITS = 6
_HAS_VALUE = 1 << 8
_IS_VALUE = 1 << 31
_OFFSET_SHIFT = 10
_ROOT_BASE = 256
# Later bytes of a UTF-8 character have 64 values, 0x80 to 0xBF.
_BLOCK = 64


def normalizer_model(replacements):
  """Compiles the `model_buffer` of `tensorflow_text.FastBertNormalizer`, bytes.

  Args:
    replacements: dict of character to its replacement, at most 63 bytes; ""
      drops it. Other characters are not changed.
  """
  pool, values = bytearray(), {}
  for text in dict.fromkeys(replacements.values()):
    encoded = text.encode("utf-8")
    values[text] = _IS_REPLACED | len(pool) << _LENGTH_BITS | len(encoded)
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

  U+0000 must not be among them. The result, uint32 [units], is a multiple of
  256 long, so that no byte leads outside.
  """
  units, ends = {}, []
  next_block = _ROOT_BASE + 256
  waiting = [(_nested(values), 0, _ROOT_BASE)]
  while waiting:
    node, position, base = waiting.pop()
    units[position] = units.get(position, 0) | _offset(position, base)
    for byte, child in sorted(node.items()):
      units[base ^ byte] = byte
      if isinstance(child, int):
        ends.append((base ^ byte, child))
      else:
        # Its own block: no two nodes may have the same base.
        waiting.append((child, base ^ byte, next_block))
        next_block += _BLOCK
  size = -(-next_block // 256) * 256
  free = _free_bases(units, size)
  for position, value in ends:
    base = next(free)
    units[position] |= _offset(position, base) | _HAS_VALUE
    units[base] = _IS_VALUE | value
  array = np.zeros(-(-(max(units) + 1) // 256) * 256, np.uint32)
  array[list(units)] = list(units.values())
  return array


def _nested(values):
  """The keys as a tree: dict of byte to dict, or to the value of a key."""
  root = {}
  for key, value in values.items():
    node = root
    for byte in key[:-1]:
      node = node.setdefault(byte, {})
    node[key[-1]] = value
  return root


def _free_bases(units, size):
  """Yields positions below and above `size` with neither a unit nor a base.

  Bases of nodes are 256 and greater multiples of 64, all below `size`.
  """
  taken = set(units)
  position = 1
  while True:
    is_base = _ROOT_BASE <= position < size and position % _BLOCK == 0
    if position not in taken and not is_base:
      yield position
    position += 1


def _offset(position, base):
  return (position ^ base) << _OFFSET_SHIFT
