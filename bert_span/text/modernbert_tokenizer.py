"""ModernBERT's byte pairs: NFC first, and tokens of several blanks.

A letter and its accent are one character after NFC. So offsets are mapped back:
the characters of a text are divided into clusters that NFC changes on their
own, a character and what can combine with it. A character of a cluster that NFC
changed has the offsets of the whole cluster:

    text        c a f e U+0301 s      6 characters
    NFC         c a f é s
    offsets     0 1 2 3-5 5
"""

import unicodedata

import keras
import tensorflow as tf
import tensorflow_text as tf_text

from bert_span.text.byte_pair_tokenizer import BytePairTokenizer
from bert_span.text.tokenizer import Tokens
from bert_span.text.vocabulary import ModernBertPairs

# Marks, Hangul's vowels and final consonants, and those of Unicode 16, which
# RE2 does not know. NFC joins no other character to the one before it, nor does
# it move another.
COMBINING = (
  r"[\p{M}\x{1161}-\x{1175}\x{11A8}-\x{11C2}\x{897}\x{10D69}-\x{10D6D}"
  r"\x{113B8}\x{113BB}\x{113C2}\x{113C5}\x{113C7}-\x{113C9}"
  r"\x{113CE}-\x{113D0}\x{1611E}-\x{16129}\x{1612F}\x{16D67}\x{16D68}"
  r"\x{1E5EE}\x{1E5EF}]"
)


@keras.saving.register_keras_serializable(package="bert_span")
class ModernBertTokenizer(BytePairTokenizer):
  """Splits texts into ModernBERT's byte pairs with offsets.

  The words and their tokens are as in a `BytePairTokenizer`; texts are
  normalized by NFC first. A window is [CLS] question [SEP] passage [SEP].

  The offsets are into the text that was given. A token ends after all marks of
  its last letter, so that an answer does not end within the letter "e" +
  U+0301.

  Example: with the added token "   ", which ModernBERT has, the tokens of
  "a   b" are "a", "   " and "b".

  Args:
    vocabulary, merges, added_tokens: see `BytePairTokenizer`.

  Source: Warner et al. 2024, arXiv 2412.13663, section 2.1.1.
  """

  num_separators = 1
  special_tokens = "[CLS]", "[SEP]", "[PAD]"

  def __init__(self, vocabulary, merges, added_tokens=(), **kwargs):
    super().__init__(vocabulary, merges, added_tokens=added_tokens, **kwargs)

  def _normalized_contents(self, contents):
    return [unicodedata.normalize("NFC", content) for content in contents]

  def _own_vocabulary(self):
    return ModernBertPairs(self._own_tokens(), self._merges.tolist())

  def _normalized_tokens(self, texts):
    normalized = tf_text.normalize_utf8(texts, "NFC")
    ids, starts, ends = super()._normalized_tokens(normalized)
    source_starts, source_ends, row_splits = _sources(texts)
    first = tf.gather(row_splits, ids.value_rowids())
    last = tf.size(source_ends, tf.int64) - 1
    # Of tokens without characters, those of a blank, both are the end.
    before = first + tf.cast(ends.values, tf.int64) - 1
    new_ends = tf.gather(source_ends, before)
    after = tf.minimum(first + tf.cast(starts.values, tf.int64), last)
    new_starts = tf.gather(source_starts, after)
    new_starts = tf.where(starts.values < ends.values, new_starts, new_ends)
    return Tokens(
      ids, starts.with_values(new_starts), ends.with_values(new_ends)
    )

  def get_config(self):
    config = super().get_config()
    del config["add_prefix_space"]
    return config


def _sources(texts):
  """Where the characters of NFC come from, for texts that are valid UTF-8.

  Returns:
    The offsets in its text of the first character and after the last one, int32
    [characters of NFC], and where the texts begin there, int64 [batch + 1].
  """
  code_points = tf.strings.unicode_decode(texts, "UTF-8")
  values, rows = code_points.values, code_points.value_rowids()
  distinct, index = tf.unique(values)
  distinct = tf.strings.unicode_encode(distinct[:, tf.newaxis], "UTF-8")
  combines = tf.gather(tf.strings.regex_full_match(distinct, COMBINING), index)
  is_same_row = tf.equal(rows[1:], rows[:-1])
  is_same_row = tf.concat([[False], is_same_row], 0)[: tf.size(rows)]
  begins = tf.where(~(combines & is_same_row))[:, 0]  # [clusters], characters
  clusters = tf.RaggedTensor.from_row_starts(values, begins, validate=False)
  lengths = clusters.row_lengths()

  clusters, index = tf.unique(tf.strings.unicode_encode(clusters, "UTF-8"))
  changed = tf_text.normalize_utf8(clusters, "NFC")
  is_changed = tf.gather(tf.not_equal(clusters, changed), index)
  sizes = tf.strings.length(changed, unit="UTF8_CHAR")
  sizes = tf.cast(tf.gather(sizes, index), tf.int64)  # [clusters]

  cluster = tf.repeat(tf.range(tf.size(sizes)), sizes)  # [characters of NFC]
  number = tf.range(tf.size(cluster, tf.int64))  # within the cluster
  number -= tf.gather(tf.cumsum(sizes, exclusive=True), cluster)
  begins = tf.gather(begins, cluster)
  is_changed = tf.gather(is_changed, cluster)
  starts = tf.where(is_changed, begins, begins + number)
  lengths = tf.where(is_changed, tf.gather(lengths, cluster), 1)
  rows = tf.gather(rows, begins)
  starts -= tf.gather(code_points.row_splits, rows)
  counts = tf.math.bincount(
    tf.cast(rows, tf.int32), minlength=tf.size(texts), dtype=tf.int64
  )
  row_splits = tf.concat([[0], tf.cumsum(counts)], 0)
  return *(tf.cast(x, tf.int32) for x in (starts, starts + lengths)), row_splits
