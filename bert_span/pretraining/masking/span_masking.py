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
import itertools
from typing import NamedTuple

# Starts that are tried blindly before the possible ones are listed. Either way
# a start is uniform over the possible ones.
_BLIND_TRIES = 8


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
