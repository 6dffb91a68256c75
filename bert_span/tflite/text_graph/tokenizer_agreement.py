"""Counts differences between the tokenizer in a TFLite file and ours."""

import dataclasses

import numpy as np
import tensorflow as tf

from bert_span.serving.signatures import byte_offsets
from bert_span.storage.utf8 import encodable
from bert_span.tflite.text_graph.byte_tokenizer import ByteTokenizer

# Texts that are joined by line breaks, which end words, and compared as one.
_JOINED = 200
_CAPITAL_SIGMA, _SIGMA = "\N{GREEK CAPITAL LETTER SIGMA}", "σ"
_MAX_SHOWN = 5  # texts


@dataclasses.dataclass(frozen=True)
class TokenizerAgreement:
  """Results of a comparison.

  Attributes:
    num_texts: distinct texts.
    num_tokens: their WordPieces, by `WordPieceTokenizer`.
    capital_sigma: texts that differ, but no longer once each capital sigma is
      replaced by the small one: only `WordPieceTokenizer` lower-cases it to
      the other small sigma at the end of a word.
    other: other texts that differ.
    shown: the first texts that differ.
  """

  num_texts: int
  num_tokens: int
  capital_sigma: int
  other: int
  shown: list[str]


def compare_tokenizers(tokenizer, texts):
  """Compares a `WordPieceTokenizer` with its `ByteTokenizer`.

  Returns the `TokenizerAgreement` on texts, of which each counts once.
  """
  spec = [tf.TensorSpec([1], tf.string)]
  of_strings = tf.function(tokenizer.__call__, input_signature=spec)
  of_bytes = tf.function(
    ByteTokenizer(tokenizer).__call__, input_signature=spec
  )

  def compare(text):
    """Whether both agree, and the number of WordPieces."""
    text = tf.constant([text])
    tokens = of_strings(text)
    char_offsets = (tokens.char_starts, tokens.char_ends)
    starts, ends = byte_offsets(
      text, [offsets.values[tf.newaxis] for offsets in char_offsets]
    )
    expected = (tokens.ids.values, starts[0], ends[0])
    is_equal = all(
      np.array_equal(a, b.values)
      for a, b in zip(expected, of_bytes(text), strict=True)
    )
    return is_equal, int(tf.size(expected[0]))

  texts = list(dict.fromkeys(encodable(text) for text in texts))
  num_tokens, different = 0, []
  for begin in range(0, len(texts), _JOINED):
    part = texts[begin : begin + _JOINED]
    is_equal, tokens = compare("\n".join(part))
    num_tokens += tokens
    if not is_equal:
      different += [text for text in part if not compare(text)[0]]
  with_sigma = sum(
    compare(text.replace(_CAPITAL_SIGMA, _SIGMA))[0] for text in different
  )
  return TokenizerAgreement(
    len(texts),
    num_tokens,
    with_sigma,
    len(different) - with_sigma,
    different[:_MAX_SHOWN],
  )
