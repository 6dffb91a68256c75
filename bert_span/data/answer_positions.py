"""Finds the tokens of answers in their passages.

Annotators mark characters. As in run_squad, an answer is first widened to whole
words, then narrowed to the first run of their tokens that equals the tokens of
the answer. In "The leader was John Smith (1895-1943)." the answer "1895" is
widened to the word "(1895-1943).", which has the tokens ( 1895 - 1943 ) . and
is narrowed to 1895. If no run is equal, the whole words remain: "Japan" in
"Japanese", which is one token.

Source: google-research/bert, run_squad.py, read_squad_examples,
convert_examples_to_features and _improve_answer_span.
"""

import itertools
from typing import NamedTuple

import numpy as np

# As run_squad: only these characters separate the words of a passage. Other
# white space, such as a no-break space, is part of a word.
_WORD_SEPARATORS = [ord(c) for c in " \t\r\n\u202f"]

# The position of an answer that has no token in its passage.
NO_TOKEN = -1


class Passage(NamedTuple):
  """The tokens of a passage, and where they are in windows.

  Windows overlap, so a token may be in several: there are more places than
  tokens.
  """

  ids: np.ndarray  # int32 [tokens]
  char_starts: np.ndarray  # int32 [tokens]
  char_ends: np.ndarray  # int32 [tokens], half-open
  window: np.ndarray  # int [places], number of the window
  position: np.ndarray  # int [places], position in the window
  token: np.ndarray  # int [places], number of the token


def passages_of(windows, num_examples):
  """Yields the `Passage` of each example; windows are arrays, [windows, ..]."""
  window, position = np.nonzero(windows["token_char_starts"] >= 0)
  shift = windows["context_start"] - windows["first_context_position"]
  token = position + shift[window]
  # Windows are in the order of their examples.
  bounds = np.searchsorted(
    windows["example_index"][window], np.arange(num_examples + 1)
  )
  names = ("token_ids", "token_char_starts", "token_char_ends")
  for first, end in itertools.pairwise(bounds):
    places = [x[first:end] for x in (window, position, token)]
    # The last window with a token sets its values.
    values = np.zeros([len(names), places[2].max(initial=-1) + 1], np.int32)
    for row, name in zip(values, names, strict=True):
      row[places[2]] = windows[name][places[0], places[1]]
    yield Passage(*values, *places)


def answer_tokens(
  context, passage, char_start, char_end, answer_ids, whole_words=True
):
  """Returns the first and the last token of an answer, inclusive.

  An answer without a token has last = first - 1.

  Args:
    context: str.
    passage: the `Passage` of the context.
    char_start, char_end: characters of the answer, half-open.
    answer_ids: ids of the answer's text alone.
    whole_words: widen and narrow as run_squad does. False takes the tokens that
      share a character with the answer, for vocabularies whose tokens depend on
      the text around them.
  """
  starts, ends = passage.char_starts, passage.char_ends - 1
  begin, end = char_start, char_end - 1
  if whole_words:
    word_of = _word_numbers(context)
    starts, ends, begin, end = (word_of(x) for x in (starts, ends, begin, end))
  first = int(np.count_nonzero(ends < begin))
  last = int(np.count_nonzero(starts <= end)) - 1
  if whole_words and len(answer_ids):
    run = passage.ids[first : last + 1]
    at = np.arange(max(0, len(run) + 1 - len(answer_ids)))
    for shift, answer_id in enumerate(answer_ids):
      at = at[run[at + shift] == answer_id]
    if len(at):
      first += int(at[0])
      last = first + len(answer_ids) - 1
  return first, last


def window_positions(windows, rows, first, last):
  """Returns an answer's start and end, inclusive, in windows: int32 [rows, 2].

  A window without the whole answer has 0, 0, the position of its [CLS]. An
  answer without a token (a lone zero-width space) has -1, -1 in all windows;
  run_squad labels it from the token after it to the token before it.

  Args:
    windows: dict of arrays, [windows, ..].
    rows: bool [windows], the windows of the answer's question.
    first, last: see `answer_tokens`.
  """
  begin = windows["context_start"][rows]
  if last < first:
    return np.full([len(begin), 2], NO_TOKEN, np.int32)
  end = begin + windows["context_length"][rows]
  is_inside = (first >= begin) & (last < end)
  offset = windows["first_context_position"][rows] - begin
  positions = np.stack([first + offset, last + offset], axis=1)
  return np.where(is_inside[:, np.newaxis], positions, 0).astype(np.int32)


def _word_numbers(text):
  """Returns a function from numbers of characters to numbers of words."""
  characters = np.frombuffer(f"\n{text}".encode("utf-32-le"), np.uint32)
  is_separator = np.isin(characters, _WORD_SEPARATORS)
  begins = ~is_separator[1:] & is_separator[:-1]
  words = np.cumsum(begins)  # [characters]
  return lambda index: words[np.minimum(index, len(words) - 1)]
