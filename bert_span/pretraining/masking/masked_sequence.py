"""A masked sequence: tokens replaced, spans told, boundaries found.

    position   0     1     2    3   4      5      6      7    8
    before     [CLS] super bowl 50  was    the    big    game [SEP]
    spans                      |----------|      |-----------|
    after      [CLS] super bowl [MASK] [MASK] the lamp   tree [SEP]

The first span is masked, the second replaced by random tokens. The first has
the boundaries 2 and 5; the second touches the edge of the text, so it has no
right boundary and nothing is predicted from its boundaries.
"""

import dataclasses
from typing import NamedTuple

import numpy as np

from bert_span.pretraining.masking.span_masking import (
  draw_spans,
  length_thresholds,
)
from bert_span.pretraining.masking.whole_words import (
  continuation_table,
  word_starts,
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


class MaskedSpan(NamedTuple):
  """Tokens that share one decision.

  With masking "span" a span is all that was drawn without a gap between, with
  "word" it is a word, with "subword" a token. All positions count from [CLS].

  Attributes:
    token_start, token_end: positions, both inclusive.
    word_count: words in it (tokens with masking "subword").
    drawn_word_counts: the lengths drawn for its parts, in words; the last of
      a sequence may have been cut.
    decision: "mask", "random" or "keep".
    left_boundary, right_boundary: positions of the nearest tokens of the text
      outside of the masked tokens; None where there is none.
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
    vocabulary: list of tokens, the index is the id.
    options: `MaskingOptions`.

  Raises:
    ValueError: the vocabulary has no [MASK], or no token but special ones.

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
    # Random tokens come from here: any but the special ones.
    self._ordinary_ids = np.array(
      [i for i, t in enumerate(vocabulary) if t not in _SPECIAL_TOKENS],
      np.int32,
    )
    if not len(self._ordinary_ids):
      raise ValueError("The vocabulary has special tokens only.")

  def __call__(self, token_ids, epoch, number):
    """Masks a text.

    Args:
      token_ids: int32 [tokens], without special tokens; at least one.
      epoch: pass over the corpus, from 0.
      number: of the text within the epoch, from 0.

    Returns:
      `MaskedSequence`.
    """
    uniform = uniform_draws([self.options.seed, epoch, number])
    unit_starts = self._unit_starts(token_ids)
    sizes = np.diff(unit_starts).tolist()
    budget = self.options.budget(len(token_ids))
    drawn = draw_spans(sizes, budget, self._thresholds, uniform)
    spans = self._decide(drawn, unit_starts.tolist(), uniform)
    original = np.empty(len(token_ids) + 2, np.int32)
    original[0], original[-1] = self._cls_id, self._sep_id
    original[1:-1] = token_ids
    return MaskedSequence(
      original, self._replace(original, spans, uniform), spans
    )

  def _unit_starts(self, token_ids):
    """int64 [units + 1], where words or tokens begin, and the end."""
    if self.options.masking == "subword":
      return np.arange(len(token_ids) + 1)
    starts = word_starts(token_ids, self._continues)
    return np.append(starts, len(token_ids))

  def _decide(self, drawn, starts, uniform):
    """Joins what is adjacent and decides what each span becomes.

    Args:
      drawn: list of `DrawnSpan`.
      starts: list of `_unit_starts`.
      uniform: function without arguments to a float in [0, 1).

    Returns:
      Tuple of `MaskedSpan`, by position.
    """
    spans = []
    for run in _runs(drawn):
      boundaries = _boundaries(run, starts)
      parts = [run] if self.options.masking == "span" else [[s] for s in run]
      for part in parts:
        first, end = _words(part)
        spans.append(
          MaskedSpan(
            starts[first] + 1,
            starts[end],
            end - first,
            tuple([span.drawn_words for span in part]),
            _decision(uniform()),
            *boundaries,
          )
        )
    return tuple(spans)

  def _replace(self, original, spans, uniform):
    """int32 [seq_length], the ids after masking."""
    ids = original.copy()
    for span in spans:
      part = slice(span.token_start, span.token_end + 1)
      if span.decision == MASK:
        ids[part] = self._mask_id
      elif span.decision == RANDOM:
        num_ids = len(self._ordinary_ids)
        ids[part] = [
          self._ordinary_ids[int(uniform() * num_ids)]
          for _ in range(span.token_start, span.token_end + 1)
        ]
    return ids


def uniform_draws(entropy, at_once=64):
  """A function whose calls give independent uniform numbers in [0, 1).

  Only PCG64 and its conversion to floats are used, which NumPy does not
  change from version to version.

  Args:
    entropy: list of ints that determines the numbers.
    at_once: numbers that are drawn together.
  """
  generator = np.random.Generator(np.random.PCG64(entropy))

  def draws():
    while True:
      yield from generator.random(at_once).tolist()

  return draws().__next__


def _runs(drawn):
  """Groups drawn spans without a gap between, by position.

  Args:
    drawn: list of `DrawnSpan`.

  Returns:
    List of lists of `DrawnSpan`.
  """
  runs = []
  end = None
  for span in sorted(drawn, key=lambda span: span.first_word):
    if span.first_word == end:
      runs[-1].append(span)
    else:
      runs.append([span])
    end = span.first_word + span.num_words
  return runs


def _words(run):
  """The first word of adjacent `DrawnSpan`s, and the one behind them."""
  return run[0].first_word, run[-1].first_word + run[-1].num_words


def _boundaries(run, starts):
  """The positions around adjacent spans; None outside of the text.

  The text has the positions 1 to starts[-1].
  """
  first, end = _words(run)
  left, right = starts[first], starts[end] + 1
  return (left or None, right if right <= starts[-1] else None)


def _decision(u):
  if u < _MASK_BELOW:
    return MASK
  return RANDOM if u < _RANDOM_BELOW else KEEP
