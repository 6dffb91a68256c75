"""Masks a sequence: draws spans, replaces tokens and notes boundaries.

    position   0     1     2    3   4      5      6      7    8
    before     [CLS] super bowl 50  was    the    big    game [SEP]
    spans                      |----------|      |-----------|
    after      [CLS] super bowl [MASK] [MASK] the lamp   tree [SEP]

The first span is masked, the second is replaced by random tokens. The first has
the boundaries 2 and 5. The second touches the edge of the text, so it has no
right boundary and is not predicted from its boundaries.

A budget of 15 % of the tokens, rounded up, is spent on spans of whole words.
The length of a span in words is drawn from a geometric distribution, cut at 10.
Its start is drawn uniformly from the word starts at which a span of that length
stays within the text and overlaps no masked word. The last span is cut to the
words that the budget allows.

A batch has arrays [batch, seq_length], and from masked_positions on [batch,
targets], padded with 0:

  input_ids          the tokens after masking
  input_mask         1 for WordPieces
  masked_positions   positions of the masked tokens, counted from [CLS]
  masked_ids         the tokens before masking
  sbo_lefts          position of the token to the left of the span
  sbo_rights         position of the token to the right of the span
  sbo_positions      place of the token within the span, from 1; 0 if the span
                     boundary objective (SBO) does not predict it

Source: Joshi et al. 2020 (SpanBERT), section 3.1.
"""

import bisect
import itertools
from typing import NamedTuple

import numpy as np

from bert_span.pretraining.block_stream import continuation_table, word_starts
from bert_span.text.vocabulary import CLS_TOKEN, SEP_TOKEN, UNKNOWN_TOKEN

_MASK_TOKEN = "[MASK]"
_SPECIAL_TOKENS = ("[PAD]", UNKNOWN_TOKEN, CLS_TOKEN, SEP_TOKEN, _MASK_TOKEN)
# As published: parameter and end of the geometric distribution of lengths.
_GEOMETRIC_P = 0.2
_MAX_SPAN_WORDS = 10
# The first tokens of a span are predicted from its boundaries, up to this many.
_MAX_BOUNDARY_TARGETS = 15
# Random starts to try before the possible starts are listed. In both cases a
# start is uniform over the possible ones.
_BLIND_TRIES = 8
SEQUENCE_KEYS = ("input_ids", "input_mask")
TARGET_KEYS = (
  *("masked_positions", "masked_ids"),
  *("sbo_lefts", "sbo_rights", "sbo_positions"),
)
BATCH_KEYS = (*SEQUENCE_KEYS, *TARGET_KEYS)


class MaskedSpan(NamedTuple):
  """Tokens with one decision; positions are inclusive and counted from [CLS].

  With masking "span" they are all drawn words without a gap between them.
  """

  token_start: int
  token_end: int
  word_count: int  # tokens with masking "subword"
  drawn_word_counts: tuple  # drawn lengths of its spans; the last may be cut
  decision: str  # "mask", "random" or "keep"
  # Positions of the nearest tokens that are not masked; None at the edge of the
  # text.
  left_boundary: int | None
  right_boundary: int | None


class MaskedSequence(NamedTuple):
  """A sequence [CLS] text [SEP] before and after masking."""

  original_ids: np.ndarray  # int32 [seq_length]
  input_ids: np.ndarray  # int32 [seq_length], after masking
  spans: tuple  # of `MaskedSpan`, by position


class SequenceMasker:
  """Masks texts, as a pure function of seed, epoch and the text's number."""

  def __init__(self, vocabulary, options):
    # Random tokens are drawn from these.
    self._ordinary_ids = [
      i for i, token in enumerate(vocabulary) if token not in _SPECIAL_TOKENS
    ]
    if _MASK_TOKEN not in vocabulary or not self._ordinary_ids:
      raise ValueError(
        f"The vocabulary of {len(vocabulary)} tokens lacks {_MASK_TOKEN}, or "
        "has special tokens only. Use the vocab.txt of a BERT model."
      )
    self._options = options
    ids = map(vocabulary.index, (CLS_TOKEN, SEP_TOKEN, _MASK_TOKEN))
    self._cls_id, self._sep_id, self._mask_id = ids
    self._continues = continuation_table(vocabulary)
    self._thresholds = length_thresholds(options.masking)

  def __call__(self, token_ids, epoch, number):
    """Masks int32 [tokens], at least one, none special: `MaskedSequence`.

    `epoch`, and the `number` of the text in the epoch, count from 0.
    """
    uniform = uniform_draws([self._options.seed, epoch, number])
    # The starts of words (or tokens), and the end of the text.
    starts = np.arange(len(token_ids))
    if self._options.masking != "subword":
      starts = word_starts(token_ids, self._continues)
    starts = np.append(starts, len(token_ids))
    budget = self._options.budget(len(token_ids))
    sizes = np.diff(starts).tolist()
    drawn = draw_spans(sizes, budget, self._thresholds, uniform)
    spans = self._decide(drawn, starts.tolist(), uniform)
    original = np.array([self._cls_id, *token_ids, self._sep_id], np.int32)
    ids = original.copy()
    for span in spans:
      row = slice(span.token_start, span.token_end + 1)
      if span.decision == "mask":
        ids[row] = self._mask_id
      elif span.decision == "random":
        choices = self._ordinary_ids
        ids[row] = [choices[int(uniform() * len(choices))] for _ in ids[row]]
    return MaskedSequence(original, ids, spans)

  def _decide(self, drawn, starts, uniform):
    """Joins adjacent `DrawnSpan`s and draws each span's decision."""
    runs, end = [], None
    for span in sorted(drawn):
      if span.first_word != end:
        runs.append([])
      runs[-1].append(span)
      end = span.end_word
    spans = []
    for run in runs:
      # The text has the positions 1 to starts[-1].
      left, right = starts[run[0].first_word], starts[run[-1].end_word] + 1
      boundaries = left or None, right if right <= starts[-1] else None
      groups = [run] if self._options.masking == "span" else [[s] for s in run]
      for group in groups:
        first, end = group[0].first_word, group[-1].end_word
        drawn_words = tuple(span.drawn_words for span in group)
        draw = uniform()  # As BERT: 80 %, 10 % and 10 %.
        decision = "mask" if draw < 0.8 else "random" if draw < 0.9 else "keep"
        tokens = starts[first] + 1, starts[end]
        spans.append(
          MaskedSpan(*tokens, end - first, drawn_words, decision, *boundaries)
        )
    return tuple(spans)


def uniform_draws(entropy):
  """Returns a function that draws in [0, 1), determined by ints."""
  # PCG64 and its conversion to floats are the same in all versions of NumPy.
  generator = np.random.Generator(np.random.PCG64(entropy))
  draws = (generator.random(64).tolist() for _ in itertools.count())
  return itertools.chain.from_iterable(draws).__next__


class DrawnSpan(NamedTuple):
  """Consecutive words that are masked by one draw."""

  first_word: int
  end_word: int  # earlier than drawn if the budget or the free place ended
  drawn_words: int


def length_thresholds(masking):
  """Returns the cumulative distribution of span lengths; [] for single words.

  P(l) ~ p (1 - p)^(l - 1), l <= max. With 0.2 and 10 the mean is 3.80.
  """
  if masking != "span":
    return []
  p = _GEOMETRIC_P
  weights = [p * (1 - p) ** i for i in range(_MAX_SPAN_WORDS)]
  probabilities = [weight / sum(weights) for weight in weights]
  return list(itertools.accumulate(probabilities[:-1]))


def draw_spans(word_sizes, budget, thresholds, uniform):
  """Draws words to mask until the budget is used: a list of `DrawnSpan`.

  The budget, in tokens, is never exceeded. A rest remains only if no free word
  is short enough for it. Spans may be adjacent but have no common word. A draw
  of u gives 1 + (the number of `length_thresholds` <= u) words.
  """
  masked = bytearray(len(word_sizes))
  spans = []
  while budget > 0:
    drawn = 1 + bisect.bisect_right(thresholds, uniform())
    first, length = _place(drawn, word_sizes, masked, budget, uniform)
    if not length:
      break
    word = first
    while word < first + length and word_sizes[word] <= budget:
      masked[word] = 1
      budget -= word_sizes[word]
      word += 1
    spans.append(DrawnSpan(first, word, drawn))
  return spans


def _place(length, word_sizes, masked, left, uniform):
  """Draws a start uniformly from the possible ones: (first word, words).

  The first word must fit into the `left` tokens of the budget. The span has
  fewer words than `length` if no free place is as long; 0 if no word fits.
  """
  num_words = len(word_sizes)
  length = min(length, num_words)

  def is_possible(first):
    fits = word_sizes[first] <= left
    return fits and masked.find(1, first, first + length) < 0

  for _ in range(_BLIND_TRIES):
    first = int(uniform() * (num_words - length + 1))
    if is_possible(first):
      return first, length
  while length:
    possible = list(filter(is_possible, range(num_words - length + 1)))
    if possible:
      return possible[int(uniform() * len(possible))], length
    length -= 1
  return 0, 0


def masked_arrays(sequences, lengths):
  """Returns `MaskedSequence`s as the int32 arrays of a batch, listed above.

  The span boundary objective has no targets in a span that touches the edge of
  the text, and none after a span's first 15 tokens.
  """
  batch = {
    key: np.zeros((len(sequences), length), np.int32)
    for key, length in lengths.items()
  }
  for row, masked in enumerate(sequences):
    length = len(masked.input_ids)
    batch["input_ids"][row, :length] = masked.input_ids
    batch["input_mask"][row, :length] = 1
    targets = []
    for span in masked.spans:
      left, right = span.left_boundary, span.right_boundary
      for position in range(span.token_start, span.token_end + 1):
        boundary = (0, 0, 0)
        if left and right and position - left <= _MAX_BOUNDARY_TARGETS:
          boundary = (left, right, position - left)
        targets.append((position, masked.original_ids[position], *boundary))
    table = np.array(targets, np.int32).reshape(-1, len(TARGET_KEYS))
    for key, values in zip(TARGET_KEYS, table.T, strict=True):
      batch[key][row, : len(values)] = values
  return batch
