"""SentencePiece tokens with character offsets, as XLM-R uses them.

A text is normalized, by NFKC for most models, and its blanks become U+2581
("_" below). One is put before it. It is then cut, without regard to words, into
the pieces whose scores have the largest sum:

    text        Größe  ½ m
    normalized  _Größe_1⁄2_m
    pieces      _Größ e _1 ⁄ 2 _m
    offsets     0:4 4:5 7:8 7:8 7:8 9:10        (of the text)
"""

import keras
import numpy as np
import tensorflow as tf
import tensorflow_text as tf_text

from bert_span.text.added_tokens import (
  WHITE_SPACE,
  FoundTokens,
  in_source,
)
from bert_span.text.sentencepiece_model import (
  ALBERT_NORMALIZERS,
  BLANK,
  BYTE,
  BYTE_TOKENS,
  CHARACTERS,
  PIECE_FAMILIES,
  UNKNOWN,
  ModelProto,
  SentencePieces,
  parse_model,
  piece_ops,
  steps_of,
)
from bert_span.text.tokenizer import (
  Tokenizer,
  character_ends,
  ragged_tokens,
)

# Characters that NFC can join with the one before: marks, vowels and final
# consonants of Hangul.
_JOINED = r"[\p{M}\x{1161}-\x{1175}\x{11a8}-\x{11c2}]"
_BYTES = np.array([bytes([byte]) for byte in range(256)], object)


@keras.saving.register_keras_serializable(package="bert_span")
class SentencePieceTokenizer(Tokenizer):
  """Splits texts into the pieces of a SentencePiece model, with offsets.

  The layer uses TensorFlow ops only. Invalid UTF-8 counts as U+FFFD.

  The offsets leave out the blanks that a piece starts with. A piece that is
  only a blank has none, char_start is char_end, and neither starts nor ends an
  answer. A part of what a character is normalized to has the offsets of the
  character, and so have its bytes in a model with byte_fallback.

  Args:
    model: str, the serialized SentencePiece model in base64.
    family: architecture whose ids the tokens have: "xlm-roberta", "camembert",
      "deberta-v2" or "albert".
    added_tokens: `AddedToken`s, see `Tokenizer`.

  Example:

  ```python
  tokenizer = SentencePieceTokenizer(
    *load_vocabulary("sentencepiece.bpe.model", "xlm-roberta")
  )
  ```

  Source: Kudo and Richardson 2018, arXiv 1808.06226.
  """

  file_arguments = "model", "added_tokens"

  def __init__(self, model, family, added_tokens=(), **kwargs):
    own_vocabulary = SentencePieces(model, family)
    proto = own_vocabulary.proto
    model = parse_model(proto)
    pieces = [each.piece for each in model.pieces]
    self._family = PIECE_FAMILIES[family]
    tokens = self._family.tokens(pieces)
    super().__init__(tokens, added_tokens, **kwargs)
    self._pieces = own_vocabulary
    self.num_separators = self._family.num_separators
    self.cls_id, self.sep_id, self.pad_id = map(
      tokens.index, (self._family.cls, self._family.sep, self._family.pad)
    )
    # Of each piece: its id, whether it starts with a blank, and is only that.
    replaced = self._family.replaced
    shift = len(self._family.first) - len(replaced)
    ids = np.arange(shift, shift + len(pieces), dtype=np.int32)
    ids[: len(replaced)] = [tokens.index(piece) for piece in replaced]
    self._ids = ids
    self._begins_blank = np.array([piece[:1] == BLANK for piece in pieces])
    self._is_blank = np.array([not piece.strip(BLANK) for piece in pieces])
    self._is_byte = np.array([each.type == BYTE for each in model.pieces])
    self._steps = steps_of(model)
    self._is_albert = self._steps in ALBERT_NORMALIZERS
    self.do_lower_case = "Lowercase" in (self._steps or "")
    # A model's map of characters makes all white space blanks but U+0085.
    has_map = model.normalizer_spec.precompiled_charsmap
    self._blanks = r"\x{85}" if has_map else WHITE_SPACE
    if self._steps:
      # DeBERTa's leave one blank between words, and none at the ends.
      model.normalizer_spec.remove_extra_whitespaces = self._is_albert
      proto = model.SerializeToString()
    self.resource, self._normalizer = piece_ops(proto), None
    if any(token.normalized for token in self.added_tokens):
      self._normalizer = piece_ops(_normalizer(model))
    self._find_added_tokens()

  @property
  def resources(self):
    resources = self.resource, self._normalizer
    return tuple(filter(None, resources))

  def _own_vocabulary(self):
    return self._pieces

  def _tokens(self, texts):
    characters = tf.strings.unicode_decode(texts, "UTF-8")
    after = character_ends(characters.values)
    if self._steps:
      if self._is_albert:
        normalized, unit_ends = _albert_normalized(
          characters, self._steps, self._blanks
        )
      else:
        normalized, unit_ends = _normalized(characters, self._steps)
      after = tf.cumsum(tf.cast(tf.strings.length(normalized), tf.int64))
      texts = tf.strings.unsorted_segment_join(
        normalized, characters.value_rowids(), characters.nrows()
      )
    pieces, starts, ends = self.resource.tokenize_with_offsets(texts)
    rows, pieces = pieces.value_rowids(), pieces.values  # [tokens]
    first = tf.gather(characters.row_starts(), rows)  # of each token's text
    first_bytes = tf.gather(tf.concat([[0], after], 0), first)

    byte_starts, byte_ends = (
      tf.cast(offsets.values, tf.int64) + first_bytes
      for offsets in (starts, ends)
    )
    starts = tf.searchsorted(after, byte_starts, "right", tf.int64)
    if self._steps:
      last = tf.searchsorted(after, byte_ends, "left", tf.int64)
      ends = tf.gather(tf.concat([unit_ends, [0]], 0), last)
      ends = tf.where(byte_ends > byte_starts, ends, starts)
      are_blank = tf.strings.regex_full_match(normalized, "[ \u2581]?")
    else:
      ends = tf.searchsorted(after, byte_ends, "right", tf.int64)
    if self._is_albert:
      are_blank = self._are_blank(*tf.unique(normalized))
    elif not self._steps:
      distinct, index = tf.unique(characters.values)
      distinct = tf.strings.unicode_encode(distinct[:, tf.newaxis], "UTF-8")
      are_blank = self._are_blank(distinct, index)
    if self._is_byte.any():
      # The op gives only the last byte of a character its end.
      character = tf.cumsum(tf.cast(starts[1:] != starts[:-1], tf.int32))
      character = tf.concat([tf.zeros_like(pieces[:1]), character], 0)
      last = tf.gather(tf.math.segment_max(ends, character), character)
      ends = tf.where(tf.gather(self._is_byte, pieces), last, ends)
    # The character at each offset, or the first one after it that is no blank.
    not_blank = tf.where(~are_blank)[:, 0]
    not_blank = tf.concat([not_blank, characters.row_splits[-1:]], 0)
    after_blanks = tf.gather(not_blank, tf.searchsorted(not_blank, starts))
    begins_blank = tf.gather(self._begins_blank, pieces)
    starts = tf.where(begins_blank, after_blanks, starts)
    is_blank = tf.gather(self._is_blank, pieces)
    starts = tf.where(is_blank, ends, starts)
    ends = tf.where(is_blank, ends, tf.maximum(ends, starts + 1))
    parts = (tf.gather(self._ids, pieces), starts - first, ends - first)
    parts = (tf.cast(part, tf.int32) for part in parts)
    return ragged_tokens(parts, rows, characters.nrows())

  def _are_blank(self, distinct, index):
    """Finds characters that become blanks or nothing: bool [characters].

    They are those at the indices of distinct ones.
    """
    pieces = self.resource.tokenize(distinct)
    are_blank = tf.reduce_all(tf.gather(self._is_blank, pieces), axis=1)
    return tf.gather(are_blank, index)

  def _find_in_normalized(self, texts):
    normalized, starts, ends = self._normalize(texts)
    found = self._in_normalized.find(normalized)
    if self._family is PIECE_FAMILIES["deberta-v2"]:
      found = self._with_blanks(found, normalized)
    return in_source(found, starts, ends)

  def _normalized_contents(self, contents):
    normalized, _, _ = self._normalize(tf.constant(contents))
    return [content.decode() for content in normalized.numpy()]

  def _normalize(self, texts):
    """Normalized texts, string [batch], and where their characters come from.

    Those are starts and ends in `texts`, int64 [characters] each.
    """
    if not self._steps:
      return self._normalize_by_model(texts)
    characters = tf.strings.unicode_decode(texts, "UTF-8")
    if self._is_albert:
      normalized, ends = _albert_normalized(characters, self._steps)
    else:
      normalized, ends = _normalized(characters, self._steps)
    lengths = tf.strings.length(normalized, unit="UTF8_CHAR")
    starts = tf.repeat(tf.range(tf.size(ends, tf.int64)), lengths)
    ends = tf.repeat(tf.cast(ends, tf.int64), lengths)
    normalized = tf.strings.unsorted_segment_join(
      normalized, characters.value_rowids(), characters.nrows()
    )
    if self._is_albert:
      normalized, first, limit = self._normalize_by_model(normalized)
      starts, ends = tf.gather(starts, first), tf.gather(ends, limit - 1)
    return normalized, starts, ends

  def _normalize_by_model(self, texts):
    """Normalizes by the map of characters of the model, see `_normalize`."""
    characters = tf.strings.unicode_decode(texts, "UTF-8")
    after = character_ends(characters.values)
    pieces, starts, ends = self._normalizer.tokenize_with_offsets(texts)
    rows, values = pieces.value_rowids(), pieces.values - 1  # [bytes]
    starts, ends = starts.values, ends.values
    if self._family is PIECE_FAMILIES["deberta-v2"]:
      # Of several blanks there is only the last.
      is_blank = values == ord(" ")
      precedes = is_blank[1:] & (rows[1:] == rows[:-1])
      precedes = tf.concat([precedes, [False]], 0)[: tf.size(values)]
      rows, values, starts, ends = (
        tf.boolean_mask(x, ~(is_blank & precedes))
        for x in (rows, values, starts, ends)
      )
    normalized = tf.strings.unsorted_segment_join(
      tf.gather(_BYTES, values), rows, pieces.nrows()
    )
    first = tf.gather(characters.row_starts(), rows)
    first = tf.gather(tf.concat([[0], after], 0), first)
    is_first = tf.bitwise.bitwise_and(values, 0xC0) != 0x80  # of a character
    is_last = tf.concat([is_first[1:], [True]], 0)[: tf.size(values)]
    starts, ends = (
      tf.boolean_mask(tf.cast(x, tf.int64) + first, is_kept)
      for x, is_kept in ((starts, is_first), (ends, is_last))
    )
    starts = tf.searchsorted(after, starts, "right", tf.int64)
    ends = tf.searchsorted(after, ends, "right", tf.int64)
    return normalized, starts, tf.maximum(ends, starts + 1)

  def _with_blanks(self, found, normalized):
    """Adds the lone blanks before tokens, which are tokens of DeBERTa.

    Blanks at the ends of a whole text are none, and belong to no token.
    """
    characters = tf.strings.unicode_decode(normalized, "UTF-8")
    is_blank = characters.values == ord(" ")
    dark = tf.where(~is_blank)[:, 0]
    zero = tf.constant([0], tf.int64)
    rows = tf.searchsorted(characters.row_splits, found.starts, "right") - 1
    row_starts, row_limits = (
      tf.gather(x, rows)
      for x in (characters.row_starts(), characters.row_limits())
    )
    first = tf.gather(
      tf.concat([dark, characters.row_splits[-1:]], 0),
      tf.searchsorted(dark, row_starts),
    )
    limit = tf.gather(
      tf.concat([zero, dark + 1], 0), tf.searchsorted(dark, row_limits)
    )
    starts = tf.maximum(found.starts, first)
    ends = tf.minimum(found.ends, limit)
    starts, ends, first, ids = (
      tf.boolean_mask(x, starts < ends)
      for x in (starts, ends, first, found.ids)
    )
    found = FoundTokens(starts, ends, ids, starts, ends)
    taken = tf.concat([tf.zeros_like(ends[:1]), ends[:-1]], 0)
    follows_blank = tf.gather(tf.concat([[False], is_blank], 0), starts)
    ends = tf.boolean_mask(
      starts, follows_blank & (starts > first) & (starts > taken)
    )
    vocabulary = self.vocabulary
    is_known = BLANK in vocabulary
    blank = vocabulary.index(BLANK if is_known else self._family.unknown)
    ids = tf.fill(tf.shape(ends), tf.constant(blank, tf.int64))
    added = FoundTokens(ends - 1, ends, ids, ends, ends)
    joined = [tf.concat(pair, 0) for pair in zip(found, added, strict=True)]
    order = tf.argsort(joined[0])
    return FoundTokens(*(tf.gather(x, order) for x in joined))

  def get_config(self):
    config = super().get_config() | self._pieces._asdict()
    del config["vocabulary"]
    return config


def _normalizer(model):
  """A serialized model that gives the bytes of a model's normalized text.

  The id of a byte is its number and 1.
  """
  of_bytes = ModelProto()
  of_bytes.normalizer_spec.CopyFrom(model.normalizer_spec)
  of_bytes.normalizer_spec.add_dummy_prefix = False
  of_bytes.normalizer_spec.remove_extra_whitespaces = False
  of_bytes.normalizer_spec.escape_whitespaces = False
  of_bytes.trainer_spec.byte_fallback = True
  of_bytes.trainer_spec.model_type = CHARACTERS
  of_bytes.pieces.add(piece="<unk>", type=UNKNOWN)
  for token in BYTE_TOKENS:
    of_bytes.pieces.add(piece=token, type=BYTE)
  # The op wants a piece; one of several characters is never found.
  of_bytes.pieces.add(piece="never found")
  return of_bytes.SerializeToString()


def _albert_normalized(characters, steps, blanks=None):
  """Normalizes characters by `ALBERT_NORMALIZERS`.

  Two quotes, `` or '', are one character, with the offsets of both. The marks
  that a letter loses belong to it. Arguments and results are those of
  `_normalized`; blanks is a class of characters that become blanks, if any.
  """
  codes, rows = characters.values, characters.value_rowids()
  size = tf.size(codes, tf.int64)
  distinct_codes, index = tf.unique(codes)
  distinct = tf.strings.unicode_encode(distinct_codes[:, tf.newaxis], "UTF-8")
  if blanks:
    distinct = tf.strings.regex_replace(distinct, f"[{blanks}]", " ")
  if "StripAccents" in steps:
    distinct = tf_text.normalize_utf8(distinct, "NFKD")
    distinct = tf.strings.regex_replace(distinct, r"\p{M}", "")
  if "Lowercase" in steps:
    lower = tf.strings.lower(distinct, "utf-8")  # It drops U+0000.
    distinct = tf.where(distinct_codes > 0, lower, distinct)
  normalized = tf.gather(distinct, index)
  no, place = tf.constant([False]), tf.range(size)
  follows_one = tf.concat([no, rows[1:] == rows[:-1]], 0)[:size]
  is_joined = tf.equal(normalized, "") & follows_one
  for quote in "`'":
    # A run of quotes is divided into pairs from its start.
    is_quote = codes == ord(quote)
    is_later = tf.concat([no, is_quote[:-1]], 0)[:size] & follows_one
    starts = is_quote & ~is_later
    run = tf.maximum(tf.cumsum(tf.cast(starts, tf.int32)) - 1, 0)
    run_starts = tf.concat([tf.where(starts)[:, 0], [size]], 0)
    is_second = is_quote & ((place - tf.gather(run_starts, run)) % 2 == 1)
    is_first = tf.concat([is_second[1:], no], 0)[:size]
    normalized = tf.where(is_first, '"', normalized)
    normalized = tf.where(is_second, "", normalized)
    is_joined |= is_second
  group = tf.cumsum(tf.cast(~is_joined, tf.int32)) - 1
  group_ends = tf.math.segment_max(place + 1, group)
  return normalized, tf.gather(group_ends, group)


def _normalized(characters, steps):
  """Normalizes characters by `NORMALIZERS`, but puts no blank before them.

  Args:
    characters: int32 ragged [batch, characters], code points.
    steps: "Strip Replace" or "Replace NFC Strip".

  Returns:
    String [characters], where the first of several characters that NFC joins
    has the result; and int64 [characters], the end of what each is joined to.
  """
  codes, rows = characters.values, characters.value_rowids()
  size = tf.size(codes, tf.int64)
  distinct, index = tf.unique(codes)
  distinct = tf.strings.unicode_encode(distinct[:, tf.newaxis], "UTF-8")

  def match(pattern):  # bool [characters]
    return tf.gather(tf.strings.regex_full_match(distinct, pattern), index)

  has_nfc = "NFC" in steps
  is_space = match(f"[{WHITE_SPACE}]")
  squeezed = is_space if has_nfc else codes == ord(" ")
  same = rows[1:] == rows[:-1]
  no = tf.constant([False])
  follows = tf.concat([no, squeezed[:-1] & same], 0)[:size]
  precedes = tf.concat([squeezed[1:] & same, no], 0)[:size]
  is_run = squeezed & (follows | precedes)
  is_one = is_run | match(r"[\n\r\t]") if has_nfc else is_run
  normalized = tf.where(is_one, " ", tf.gather(distinct, index))
  # White space at an end of a text: no other character is before, or after.
  seen = tf.concat([[0], tf.cumsum(tf.cast(~is_space, tf.int32))], 0)
  before, whole = (
    tf.gather(tf.gather(seen, splits), rows)
    for splits in (characters.row_starts(), characters.row_limits())
  )
  is_outer = seen[1:] == whole
  if not has_nfc:
    is_outer |= seen[1:] == before
  is_dropped = (is_run & follows) | (is_space & is_outer)
  # The blank that is put before a text is no second one.
  kept = tf.cumsum(tf.cast(~is_dropped, tf.int32))
  first = tf.gather(tf.concat([[0], kept], 0), characters.row_starts())
  is_first = kept == tf.gather(first, rows) + 1
  is_dropped |= is_first & ((normalized == " ") | (normalized == BLANK))
  normalized = tf.where(is_dropped, "", normalized)
  ends = tf.range(1, size + 1)
  if has_nfc:
    is_joined = match(_JOINED) & tf.concat([no, same], 0)[:size]
    group = tf.cumsum(tf.cast(~is_joined, tf.int32)) - 1
    num_groups = tf.reduce_sum(tf.cast(~is_joined, tf.int32))
    joined = tf.strings.unsorted_segment_join(normalized, group, num_groups)
    composed = tf_text.normalize_utf8(joined, "NFC")
    is_changed = tf.gather(composed != joined, group)
    composed = tf.where(is_joined, "", tf.gather(composed, group))
    normalized = tf.where(is_changed, composed, normalized)
    group_ends = tf.math.segment_max(ends, group)
    ends = tf.where(is_changed, tf.gather(group_ends, group), ends)
  return normalized, ends
