"""How often the tokenizer within a TFLite file differs from ours, and why."""

import dataclasses

import numpy as np
import tensorflow as tf

from bert_span.serving.byte_offsets import byte_offsets
from bert_span.storage.utf8 import encodable
from bert_span.tflite.text_graph.byte_tokenizer import ByteTokenizer

# Texts that are compared as one: lines are words' ends to both.
_JOINED = 200
_CAPITAL_SIGMA, _SIGMA = "\N{GREEK CAPITAL LETTER SIGMA}", "σ"
_SHOWN = 5  # texts


@dataclasses.dataclass(frozen=True)
class TokenizerAgreement:
  """What a comparison found.

  Attributes:
    num_texts: distinct texts that both tokenizers read.
    num_tokens: WordPieces of them, by ours.
    capital_sigma: texts that differ, but not with the small sigma in place of
      every capital one: only ours writes the other small sigma at the end of a
      word.
    other: texts that differ otherwise.
    shown: the first few that differ.
  """

  num_texts: int
  num_tokens: int
  capital_sigma: int
  other: int
  shown: tuple[str, ...]


def compare_tokenizers(tokenizer, texts):
  """Compares WordPieces and their places in bytes, text by text.

  Args:
    tokenizer: `WordPieceTokenizer`, compared with its `ByteTokenizer`.
    texts: iterable of str; each counts once.

  Returns:
    `TokenizerAgreement`.
  """
  compared = _Comparison(tokenizer)
  texts = list(dict.fromkeys(encodable(text) for text in texts))
  num_tokens, different = 0, []
  for begin in range(0, len(texts), _JOINED):
    part = texts[begin : begin + _JOINED]
    is_equal, tokens = compared("\n".join(part))
    num_tokens += tokens
    if not is_equal:
      different += [text for text in part if not compared(text)[0]]
  with_sigma = sum(
    compared(text.replace(_CAPITAL_SIGMA, _SIGMA))[0] for text in different
  )
  return TokenizerAgreement(
    len(texts),
    num_tokens,
    with_sigma,
    len(different) - with_sigma,
    tuple(different[:_SHOWN]),
  )


class _Comparison:
  """Whether both tokenizers give the same tokens, and how many ours gives."""

  def __init__(self, tokenizer):
    spec = [tf.TensorSpec([1], tf.string)]
    self._ours = tf.function(tokenizer.__call__, input_signature=spec)
    self._other = tf.function(
      ByteTokenizer(tokenizer).__call__, input_signature=spec
    )

  def __call__(self, text):
    text = tf.constant([text])
    ours, other = self._ours(text), self._other(text)
    expected = (
      ours.ids.values,
      *(
        byte_offsets(text, offsets.values[tf.newaxis])[0]
        for offsets in (ours.char_starts, ours.char_ends)
      ),
    )
    is_equal = all(
      np.array_equal(a.numpy(), b.values.numpy())
      for a, b in zip(expected, other, strict=True)
    )
    return is_equal, int(tf.size(ours.ids.values))
