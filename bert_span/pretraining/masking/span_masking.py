"""Chooses the words of a sequence that are masked: spans, words or tokens.

A budget of 15 % of the tokens, rounded up, is spent on spans of whole words.
A span's length in words is drawn from a geometric distribution that is cut at
10 and renormalized; its start is drawn uniformly from the word starts at which
a span of that length neither leaves the text nor touches a masked word.

Of "super bowl 50 was an american football game to deter ##mine the champion"
(13 tokens, 12 words) the budget is ceil(1.95) = 2 tokens. A first draw of 4
words may start at word 0 to 8; at word 4 it would be "an american football
game". Only two of its words fit into the budget: "an american" is masked.
"""

import bisect
import dataclasses
import itertools
from typing import NamedTuple

# Starts that are tried blindly before the possible ones are listed. Either way
# a start is uniform over the possible ones.
_BLIND_TRIES = 8

MASKING_KINDS = ("span", "word", "subword")


@dataclasses.dataclass(frozen=True)
class MaskingOptions:
  """What is masked, and how much of it.

  Attributes:
    masking: "span" for spans of whole words, "word" for single whole words,
      "subword" for single tokens as BERT.
    masked_percent: budget in percent of the tokens, rounded up.
    max_predictions: upper limit of the budget, in tokens; None for none.
    geometric_p: parameter of the span lengths' geometric distribution.
    max_span_words: longest span that is drawn, in words.
    max_boundary_targets: tokens of a span, its first ones, that are predicted
      from its boundaries.
    seed: the masks are a function of it, the epoch and the sequence's number.
  """

  masking: str = "span"
  masked_percent: int = 15
  max_predictions: int | None = None
  geometric_p: float = 0.2
  max_span_words: int = 10
  max_boundary_targets: int = 15
  seed: int = 12345

  def __post_init__(self):
    """Refuses what cannot be masked with."""
    if self.masking not in MASKING_KINDS:
      raise ValueError(
        f"masking must be one of {', '.join(MASKING_KINDS)}. "
        f"Received: masking={self.masking!r}"
      )
    _check_range("masked_percent", self.masked_percent, 1, 100)
    _check_range("max_span_words", self.max_span_words, 1, None)
    _check_range("max_boundary_targets", self.max_boundary_targets, 1, None)
    _check_range("seed", self.seed, 0, None)
    if self.max_predictions is not None:
      _check_range("max_predictions", self.max_predictions, 1, None)
    if not 0 < self.geometric_p < 1:
      raise ValueError(
        "geometric_p must lie between 0 and 1. "
        f"Received: geometric_p={self.geometric_p}"
      )

  def budget(self, num_tokens):
    """Tokens to mask in a text: ceil(num_tokens * 15 / 100), in integers.

    Args:
      num_tokens: tokens of the text, special tokens not counted.
    """
    budget = -(-num_tokens * self.masked_percent // 100)
    if self.max_predictions is None:
      return budget
    return min(budget, self.max_predictions)


class DrawnSpan(NamedTuple):
  """Consecutive words that one draw has masked.

  Attributes:
    first_word: index of the first one.
    num_words: words masked; fewer than drawn where the budget ended or no
      free place was long enough.
    drawn_words: the length that was drawn.
  """

  first_word: int
  num_words: int
  drawn_words: int


def span_length_probabilities(p=0.2, max_words=10):
  """The distribution of span lengths: P(l) ~ p (1 - p)^(l - 1), l <= max.

  Example: 0.2 and 10 give .2241 .1792 .1434 .1147 .0918 .0734 .0587 .0470
  .0376 .0301, with mean 3.80.

  Args:
    p: parameter of the geometric distribution.
    max_words: longest span.

  Returns:
    List of floats that sum to 1; entry i is the probability of i + 1 words.

  Source: Joshi et al. 2020 (SpanBERT), section 3.1.
  """
  weights = [p * (1 - p) ** i for i in range(max_words)]
  return [weight / sum(weights) for weight in weights]


def length_thresholds(options):
  """Numbers that turn a uniform draw into a length; see `draw_spans`.

  Args:
    options: `MaskingOptions`.

  Returns:
    List of floats; empty where every length is 1.
  """
  if options.masking != "span":
    return []
  probabilities = span_length_probabilities(
    options.geometric_p, options.max_span_words
  )
  return list(itertools.accumulate(probabilities[:-1]))


def draw_spans(word_sizes, budget, thresholds, uniform):
  """Draws words to mask until the budget is used.

  Never more than the budget is masked: the last span is cut to the whole words
  that fit. Less is masked only where no word that is left is short enough for
  what is left of the budget.

  Args:
    word_sizes: list of ints, tokens of each word.
    budget: tokens to mask.
    thresholds: ascending floats; a draw of u gives 1 + (the number of
      thresholds <= u) words.
    uniform: function without arguments to a float in [0, 1).

  Returns:
    List of `DrawnSpan` in the order drawn. No two share a word; they may be
    adjacent.
  """
  masked = bytearray(len(word_sizes))
  spans = []
  left = budget
  while left > 0:
    drawn = 1 + bisect.bisect_right(thresholds, uniform())
    first, length = _place(drawn, word_sizes, masked, left, uniform)
    if not length:
      break
    word = first
    while word < first + length and word_sizes[word] <= left:
      masked[word] = 1
      left -= word_sizes[word]
      word += 1
    spans.append(DrawnSpan(first, word - first, drawn))
  return spans


def _place(length, word_sizes, masked, left, uniform):
  """Draws a start uniformly from the possible ones.

  Args:
    length: words wanted; fewer are taken where no free place is as long.
    word_sizes: list of ints.
    masked: bytearray, 1 for masked words.
    left: tokens left of the budget; the first word must fit.
    uniform: see `draw_spans`.

  Returns:
    (first word, words); (0, 0) where no free word fits.
  """
  num_words = len(word_sizes)
  length = min(length, num_words)
  for _ in range(_BLIND_TRIES):
    first = int(uniform() * (num_words - length + 1))
    if word_sizes[first] <= left and masked.find(1, first, first + length) < 0:
      return first, length
  while length:
    possible = [
      first
      for first in range(num_words - length + 1)
      if word_sizes[first] <= left and masked.find(1, first, first + length) < 0
    ]
    if possible:
      return possible[int(uniform() * len(possible))], length
    length -= 1
  return 0, 0


def _check_range(name, value, lowest, highest):
  if value < lowest or (highest is not None and value > highest):
    limits = f"at least {lowest}" if highest is None else f"{lowest}-{highest}"
    raise ValueError(f"{name} must be {limits}. Received: {name}={value}")
