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

from bert_span.text.sentencepiece_model import (
  BLANK,
  BYTE,
  PIECE_FAMILIES,
  SentencePieces,
  parse_model,
)
from bert_span.text.tokenizer import Tokenizer, character_ends, ragged_tokens


@keras.saving.register_keras_serializable(package="bert_span")
class SentencePieceTokenizer(Tokenizer):
  """Splits texts into the pieces of a SentencePiece model, with offsets.

  The layer uses TensorFlow ops only. Invalid UTF-8 counts as U+FFFD. Special
  tokens such as <s> are ordinary characters in a text.

  The offsets leave out the blanks that a piece starts with. A piece that is
  only a blank has none, char_start is char_end, and neither starts nor ends an
  answer. A part of what a character is normalized to has the offsets of the
  character, and so have its bytes in a model with byte_fallback.

  Args:
    model: str, the serialized SentencePiece model in base64.
    family: architecture whose ids the tokens have: "xlm-roberta", "camembert"
      or "deberta-v2".

  Example:

  ```python
  tokenizer = SentencePieceTokenizer(
    *load_vocabulary("sentencepiece.bpe.model", "xlm-roberta")
  )
  ```

  Source: Kudo and Richardson 2018, arXiv 1808.06226.
  """

  do_lower_case = False

  def __init__(self, model, family, **kwargs):
    self.full_vocabulary = SentencePieces(model, family)
    proto = self.full_vocabulary.proto
    model = parse_model(proto)
    pieces = [each.piece for each in model.pieces]
    self._family = PIECE_FAMILIES[family]
    tokens = self._family.tokens(pieces)
    super().__init__(tokens, **kwargs)
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
    # A SavedModel with these ops must track it.
    self.resource = tf_text.SentencepieceTokenizer(proto)

  def call(self, texts):
    """Returns the `Tokens` of texts, string [batch], UTF-8."""
    texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8")
    pieces, starts, ends = self.resource.tokenize_with_offsets(texts)
    rows, pieces = pieces.value_rowids(), pieces.values  # [tokens]
    characters = tf.strings.unicode_decode(texts, "UTF-8")
    after = character_ends(characters.values)
    first = tf.gather(characters.row_starts(), rows)  # of each token's text
    first_bytes = tf.gather(tf.concat([[0], after], 0), first)

    def to_characters(byte_offsets):
      offsets = tf.cast(byte_offsets.values, tf.int64) + first_bytes
      return tf.searchsorted(after, offsets, "right", tf.int64)

    starts, ends = to_characters(starts), to_characters(ends)
    if self._is_byte.any():
      # The op gives only the last byte of a character its end.
      character = tf.cumsum(tf.cast(starts[1:] != starts[:-1], tf.int32))
      character = tf.concat([tf.zeros_like(pieces[:1]), character], 0)
      last = tf.gather(tf.math.segment_max(ends, character), character)
      ends = tf.where(tf.gather(self._is_byte, pieces), last, ends)
    # The character at each offset, or the first one after it that is no blank.
    not_blank = tf.where(~self._are_blank(characters.values))[:, 0]
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

  def _are_blank(self, code_points):
    """Whether characters become blanks, or nothing: bool [characters]."""
    distinct, index = tf.unique(code_points)
    distinct = tf.strings.unicode_encode(distinct[:, tf.newaxis], "UTF-8")
    pieces = self.resource.tokenize(distinct)
    are_blank = tf.reduce_all(tf.gather(self._is_blank, pieces), axis=1)
    return tf.gather(are_blank, index)

  def get_config(self):
    config = super().get_config() | self.full_vocabulary._asdict()
    del config["vocabulary"]
    return config
