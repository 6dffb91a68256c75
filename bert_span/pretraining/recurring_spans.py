"""Questions without an annotator: spans that a text repeats.

Of the places where a span recurs, one is kept and each other is replaced by one
[QUESTION] token, which asks for the place that was kept:

    text       the mill of Anna Reed fell ; Anna Reed wept at the mill
    recurring  "Anna Reed" (twice), "the mill" (twice)
    input      the mill of [QUESTION] fell ; Anna Reed wept at [QUESTION]
    answers    "Anna Reed" for the first, "the mill" for the second

A span has at most 10 words and one of them is more than a function word or a
punctuation mark. Longer spans go first, so that no span lies in another.

Source: Ram et al. 2021 (Few-Shot Question Answering by Pretraining Span
Selection), section 3.
"""

import itertools

import numpy as np

from bert_span.pretraining.block_stream import continuation_table, word_starts
from bert_span.pretraining.masking import MaskedSequence, uniform_draws
from bert_span.text.vocabulary import CLS_TOKEN, SEP_TOKEN

# BERT has no such token: one of those that it keeps for this takes its place.
_QUESTION_TOKENS = ("[QUESTION]", "[unused99]", "[unused1]")
_MAX_WORDS = 10
# As published: 30 questions in 512 tokens.
_TOKENS_PER_QUESTION = 17
_FUNCTION_WORDS = """
a about above after again against all also although always among an and any
are as at be became because been before being below between both but by can
could did do does doing down during each either else even ever every few for
from further had has have having he her here hers him his how however i if in
into is it its itself just many may me might more most much must my no nor not
now of off often on once one only or other others our out over own s same she
should since so some such t than that the their them then there these they
this those though through thus to too under until up upon us very was we well
were what when where whether which while who whom whose why will with within
without would yet you your
"""


class RecurringSpanMasker:
  """Makes questions of recurring spans, as `SequenceMasker` masks spans."""

  def __init__(self, vocabulary, options):
    token = next((t for t in _QUESTION_TOKENS if t in vocabulary), None)
    if token is None:
      raise ValueError(
        f"The vocabulary of {len(vocabulary)} tokens has none of "
        f"{', '.join(_QUESTION_TOKENS)}, which --objective=rss needs. Use the "
        "vocab.txt of a BERT model."
      )
    self._options = options
    self._question_id = vocabulary.index(token)
    self._cls_id = vocabulary.index(CLS_TOKEN)
    self._sep_id = vocabulary.index(SEP_TOKEN)
    self._continues = continuation_table(vocabulary)
    # Tokens that alone make no span.
    function_words = set(_FUNCTION_WORDS.split())
    self._is_function_word = np.array(
      [t in function_words or not any(map(str.isalnum, t)) for t in vocabulary]
    )

  def __call__(self, token_ids, epoch, number):
    """The `MaskedSequence` of a text; arguments of `SequenceMasker`."""
    uniform = uniform_draws([self._options.seed, epoch, number])
    starts = word_starts(token_ids, self._continues).tolist()
    bounds = [*starts, len(token_ids)]
    words = [
      tuple(token_ids[a:b].tolist()) for a, b in itertools.pairwise(bounds)
    ]
    functions = [bool(self._is_function_word[list(w)].all()) for w in words]
    groups = recurring_spans(words, functions)
    answers = {}  # by the span replaced: the one kept; (first, end) in words
    room = max(1, len(token_ids) // _TOKENS_PER_QUESTION)
    room = min(room, self._options.max_predictions or room)
    while groups and room:
      places = groups.pop(int(uniform() * len(groups)))
      kept = places.pop(int(uniform() * len(places)))
      for place in places[:room]:
        answers[place] = kept
      room -= len(places[:room])
    return self._replaced(token_ids, bounds, answers)

  def _replaced(self, token_ids, bounds, answers):
    """The `MaskedSequence` in which spans of words have become questions."""
    parts, before = [[self._cls_id]], 0
    # Where each word begins in the new sequence, from [CLS].
    positions = np.array(bounds) + 1
    for first, end in sorted(answers):
      parts += [token_ids[before : bounds[first]], [self._question_id]]
      positions[end:] -= bounds[end] - bounds[first] - 1
      before = bounds[end]
    parts += [token_ids[before:], [self._sep_id]]
    ids = np.concatenate(parts).astype(np.int32)
    questions = tuple(
      (positions[place], positions[first], positions[end] - 1)
      for (place, _), (first, end) in sorted(answers.items())
    )
    return MaskedSequence(ids, ids, (), questions)


def recurring_spans(words, are_function_words):
  """Groups of two or more equal spans, (first word, word after the last).

  No two share a word. Words that are function words alone make no span.
  """
  taken = [False] * len(words)
  groups = []
  for length in range(_MAX_WORDS, 0, -1):
    places = {}
    for first in range(len(words) - length + 1):
      end = first + length
      if any(taken[first:end]) or all(are_function_words[first:end]):
        continue
      found = places.setdefault(tuple(words[first:end]), [])
      if not found or found[-1][1] <= first:
        found.append((first, end))
    for found in places.values():
      # A word may be part of two spans of this length.
      free = [place for place in found if not any(taken[slice(*place)])]
      if len(free) > 1:
        groups.append(free)
        for place in free:
          taken[slice(*place)] = [True] * length
  return groups
