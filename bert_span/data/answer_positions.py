"""Where answers are in the tokens of their passages.

Annotators mark characters. As in run_squad, the answer is first widened to
whole words, then narrowed to the first run of tokens in them that equals the
tokens of the answer. In "The leader was John Smith (1895-1943)." the answer
"1895" is widened to "(1895-1943).", the tokens ( 1895 - 1943 ) . and narrowed
to 1895. If no run is equal ("Japan" in "Japanese", one token), the whole words
remain.

Source: google-research/bert, run_squad.py, read_squad_examples,
convert_examples_to_features and _improve_answer_span.
"""

import itertools
from typing import NamedTuple

import numpy as np

# As run_squad: only these separate the words of a passage. Other white space,
# such as a no-break space, is part of a word.
_WORD_SEPARATORS = [ord(c) for c in " \t\r\n\u202f"]

# The position of an answer that has no token in its passage.
NO_TOKEN = -1


class Passage(NamedTuple):
  """The tokens of a passage, int32 [tokens], and their places in windows."""

  ids: np.ndarray
  char_starts: np.ndarray
  char_ends: np.ndarray
  window: np.ndarray  # int [places]
  position: np.ndarray  # int [places]
  token: np.ndarray  # int [places]


def passages_of(windows, num_examples):
  """Yields the `Passage` of each example, of arrays of `SlidingWindows`."""
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
    # Windows overlap: the last one that holds a token gives its values.
    values = np.zeros([len(names), places[2].max(initial=-1) + 1], np.int32)
    for row, name in zip(values, names, strict=True):
      row[places[2]] = windows[name][places[0], places[1]]
    yield Passage(*values, *places)


def answer_tokens(
  context, passage, char_start, char_end, answer_ids, whole_words=True
):
  """Returns the first and the last token of an answer in its `Passage`.

  The last is first - 1 if it has none. `answer_ids` are the tokens of its text
  alone. Without `whole_words`, which run_squad has, the tokens share a
  character with it: for vocabularies whose tokens depend on the neighbours.
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
  """Returns an answer's start and end, inclusive, in the windows `rows`.

  int [rows, 2]. A window without the whole answer has 0, 0, its [CLS]. An
  answer without a token (a lone zero-width space) has -1, -1 in all windows;
  run_squad labels it from the token after it to the one before.
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
  """A function from characters to their words; separators end a word."""
  characters = np.frombuffer(f"\n{text}".encode("utf-32-le"), np.uint32)
  is_separator = np.isin(characters, _WORD_SEPARATORS)
  begins = ~is_separator[1:] & is_separator[:-1]
  words = np.cumsum(begins)  # [characters]
  return lambda index: words[np.minimum(index, len(words) - 1)]
