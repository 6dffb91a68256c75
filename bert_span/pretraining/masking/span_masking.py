"""Chooses the words of a sequence that are masked: spans, words or tokens.

A budget of 15 % of the tokens, rounded up, is spent on spans of whole words.
The length of a span in words is drawn from a geometric distribution that is cut
at 10 and renormalized. Its start is drawn uniformly from the word starts where
a span of that length stays within the text and overlaps no masked word.

"super bowl 50 was an american football game to deter ##mine the champion" has
13 tokens, 12 words and a budget of ceil(1.95) = 2 tokens. A first draw of 4
words may start at word 0 to 8. At word 4 it is "an american football game". The
budget holds two of its words, so "an american" is masked.
"""

import bisect
import itertools
from typing import NamedTuple

# Random starts to try before the possible ones are listed. Either way a start
# is uniform over the possible ones.
_BLIND_TRIES = 8


class DrawnSpan(NamedTuple):
  """Consecutive words that one draw has masked.

  num_words is less than drawn_words, the length that was drawn, if the budget
  ended or no free place was long enough.
  """

  first_word: int
  num_words: int
  drawn_words: int

  @property
  def end_word(self):
    """Index of the word after it."""
    return self.first_word + self.num_words


def span_length_probabilities(p=0.2, max_words=10):
  """The distribution of span lengths: P(l) ~ p (1 - p)^(l - 1), l <= max.

  Example: 0.2 and 10 give .2241 .1792 .1434 .1147 .0918 .0734 .0587 .0470
  .0376 .0301, with mean 3.80.

  Source: Joshi et al. 2020 (SpanBERT), section 3.1.
  """
  weights = [p * (1 - p) ** i for i in range(max_words)]
  return [weight / sum(weights) for weight in weights]


def length_thresholds(options):
  """The cumulative distribution of span lengths; [] if every length is 1."""
  if options.masking != "span":
    return []
  probabilities = span_length_probabilities(
    options.geometric_p, options.max_span_words
  )
  return list(itertools.accumulate(probabilities[:-1]))


def draw_spans(word_sizes, budget, thresholds, uniform):
  """Draws words to mask until the budget is used: a list of `DrawnSpan`.

  The budget is never exceeded: the last span is cut to the whole words that
  fit. It is not used up only if no free word is short enough for the rest.
  Spans share no word but may be adjacent.

  Args:
    word_sizes: list of ints, tokens of each word.
    budget: tokens to mask.
    thresholds: ascending floats; a draw of u means 1 + (the number of
      thresholds <= u) words.
    uniform: function without arguments to a float in [0, 1).
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
  """Draws a start uniformly from the possible ones: (first word, words).

  The first word must fit into the `left` tokens of the budget. There are fewer
  words than `length` if no free place is as long, and 0 if no free word fits.
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
