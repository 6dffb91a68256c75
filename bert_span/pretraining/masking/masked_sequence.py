"""Masks a sequence: replaces tokens, records spans and their boundaries.

    position   0     1     2    3   4      5      6      7    8
    before     [CLS] super bowl 50  was    the    big    game [SEP]
    spans                      |----------|      |-----------|
    after      [CLS] super bowl [MASK] [MASK] the lamp   tree [SEP]

The first span is masked, the second replaced by random tokens. The first has
the boundaries 2 and 5. The second touches the edge of the text, so it has no
right boundary and nothing is predicted from its boundaries.
"""

import dataclasses
from typing import NamedTuple

import numpy as np

from bert_span.pretraining.masking.span_masking import (
  draw_spans,
  length_thresholds,
)
from bert_span.text.vocabulary import CLS_TOKEN, SEP_TOKEN, UNKNOWN_TOKEN

MASK_TOKEN = "[MASK]"
MASK = "mask"
RANDOM = "random"
KEEP = "keep"
# As BERT: 80 % [MASK], 10 % random tokens, 10 % kept.
_MASK_BELOW = 0.8
_RANDOM_BELOW = 0.9
_SPECIAL_TOKENS = ("[PAD]", UNKNOWN_TOKEN, CLS_TOKEN, SEP_TOKEN, MASK_TOKEN)
_CONTINUATION = "##"


class MaskedSpan(NamedTuple):
  """Tokens that share one decision.

  With masking "span" a span is all words drawn without a gap between them, with
  "word" it is a word, with "subword" a token. Positions count from [CLS] and
  are inclusive.

  Attributes:
    word_count: words in it (tokens with masking "subword").
    drawn_word_counts: the lengths drawn for its parts, in words; the last of
      a sequence may have been cut.
    decision: "mask", "random" or "keep".
    left_boundary, right_boundary: positions of the nearest tokens of the text
      outside the masked tokens; None at the edge of the text.
  """

  token_start: int
  token_end: int
  word_count: int
  drawn_word_counts: tuple
  decision: str
  left_boundary: int | None
  right_boundary: int | None


@dataclasses.dataclass(frozen=True)
class MaskedSequence:
  """A sequence before and after masking.

  Attributes:
    original_ids: int32 [seq_length], [CLS] text [SEP].
    input_ids: int32 [seq_length], the same after masking.
    spans: tuple of `MaskedSpan`, by position.
  """

  original_ids: np.ndarray
  input_ids: np.ndarray
  spans: tuple


class SequenceMasker:
  """Masks texts, as a pure function of seed, epoch and the text's number.

  Example:

      masker = SequenceMasker(vocabulary, MaskingOptions(seed=1))
      masked = masker(token_ids, epoch=0, number=17)
      masked.input_ids  # [CLS], token_ids with 15 % replaced, [SEP]

  Args:
    vocabulary: list of tokens, the index is the id; it must have [MASK].
    options: `MaskingOptions`.

  Source: Joshi et al. 2020 (SpanBERT), section 3.1.
  """

  def __init__(self, vocabulary, options):
    if MASK_TOKEN not in vocabulary:
      raise ValueError(
        f"The vocabulary of {len(vocabulary)} tokens lacks {MASK_TOKEN}, so "
        "nothing can be masked with it. Use the vocab.txt of a BERT model."
      )
    self.options = options
    self._cls_id = vocabulary.index(CLS_TOKEN)
    self._sep_id = vocabulary.index(SEP_TOKEN)
    self._mask_id = vocabulary.index(MASK_TOKEN)
    self._continues = continuation_table(vocabulary)
    self._thresholds = length_thresholds(options)
    # Random tokens are drawn from these.
    self._ordinary_ids = np.array(
      [i for i, t in enumerate(vocabulary) if t not in _SPECIAL_TOKENS],
      np.int32,
    )
    if not len(self._ordinary_ids):
      raise ValueError("The vocabulary has special tokens only.")

  def __call__(self, token_ids, epoch, number):
    """The `MaskedSequence` of a text.

    Args:
      token_ids: int32 [tokens], without special tokens; at least one.
      epoch: pass over the corpus, from 0.
      number: of the text within the epoch, from 0.
    """
    uniform = uniform_draws([self.options.seed, epoch, number])
    # Where words (or tokens) start, and the end of the text.
    starts = np.arange(len(token_ids) + 1)
    if self.options.masking != "subword":
      starts = word_starts(token_ids, self._continues)
      starts = np.append(starts, len(token_ids))
    budget = self.options.budget(len(token_ids))
    sizes = np.diff(starts).tolist()
    drawn = draw_spans(sizes, budget, self._thresholds, uniform)
    spans = self._decide(drawn, starts.tolist(), uniform)
    original = np.empty(len(token_ids) + 2, np.int32)
    original[0], original[-1] = self._cls_id, self._sep_id
    original[1:-1] = token_ids
    ids = original.copy()
    for span in spans:
      part = slice(span.token_start, span.token_end + 1)
      if span.decision == MASK:
        ids[part] = self._mask_id
      elif span.decision == RANDOM:
        ids[part] = [
          self._ordinary_ids[int(uniform() * len(self._ordinary_ids))]
          for _ in range(span.token_start, span.token_end + 1)
        ]
    return MaskedSequence(original, ids, spans)

  def _decide(self, drawn, starts, uniform):
    """Joins adjacent `DrawnSpan`s and decides what each span becomes."""
    runs = []
    for span in sorted(drawn, key=lambda span: span.first_word):
      if runs and span.first_word == runs[-1][-1].end_word:
        runs[-1].append(span)
      else:
        runs.append([span])
    spans = []
    for run in runs:
      # The text has the positions 1 to starts[-1].
      left, right = starts[run[0].first_word], starts[run[-1].end_word] + 1
      boundaries = left or None, right if right <= starts[-1] else None
      parts = [run] if self.options.masking == "span" else [[s] for s in run]
      for part in parts:
        first, end = part[0].first_word, part[-1].end_word
        spans.append(
          MaskedSpan(
            starts[first] + 1,
            starts[end],
            end - first,
            tuple(span.drawn_words for span in part),
            _decision(uniform()),
            *boundaries,
          )
        )
    return tuple(spans)


def _decision(draw):
  if draw < _MASK_BELOW:
    return MASK
  return RANDOM if draw < _RANDOM_BELOW else KEEP


def uniform_draws(entropy, at_once=64):
  """A function whose calls return independent uniform numbers in [0, 1).

  The list of ints `entropy` determines the numbers. Only PCG64 and its
  conversion to floats are used, which NumPy does not change between versions.
  """
  generator = np.random.Generator(np.random.PCG64(entropy))

  def draws():
    while True:
      yield from generator.random(at_once).tolist()

  return draws().__next__


def continuation_table(vocabulary):
  """Whether each id continues a word, as "##ing" does: bool [vocab]."""
  return np.array(
    [
      token.startswith(_CONTINUATION) and token != _CONTINUATION
      for token in vocabulary
    ],
    bool,
  )


def word_starts(token_ids, continues):
  """The indices where words start, int64 [words].

  As in the original's whole word masking, punctuation marks are words. If a
  text is cut within a word, the rest of the word counts as a word.

  Example: "The mill ##er left ." has the word starts 0, 1, 3, 4.

  Args:
    token_ids: int [tokens], without special tokens.
    continues: bool [vocab], see `continuation_table`.
  """
  starts = ~continues[token_ids]
  starts[:1] = True
  return np.flatnonzero(starts)
