"""Masked sequences for people, and as rows of JSON."""

import numpy as np

from bert_span.jobs.inspect_masking import masked_lines
from bert_span.pretraining.masking import MaskedSequence, MaskedSpan
from bert_span.pretraining.options import MaskingOptions

_VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
_VOCABULARY += ["super", "bowl", "50", "the", "big", "game"]
_MASKED = MaskedSequence(
  np.array([2, 5, 6, 7, 8, 9, 10, 3], np.int32),
  np.array([2, 5, 4, 4, 8, 9, 6, 3], np.int32),
  (
    MaskedSpan(2, 3, 2, (1, 5), "mask", 1, 4),
    MaskedSpan(6, 6, 1, (1,), "random", 5, None),
  ),
)


def test_a_sequence_in_words():
  assert masked_lines(_MASKED, _VOCABULARY, MaskingOptions()) == [
    "8 WordPieces, 3 masked of a budget of 1",
    "[CLS] super {bowl 50} the big {game} [SEP]",
    "  2-3: bowl 50 -> [MASK] [MASK]",
    "       2 words, mask, between super (1) and the (4)",
    "  6-6: game -> bowl",
    "       1 word, random, between big (5) and none (edge)",
  ]
