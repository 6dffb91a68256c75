"""Conversion in plain Python, one character and one word at a time.

What one writes without a library: basic tokenization with character offsets,
greedy WordPiece, overlapping windows, padding. On text without rare characters
its ids are those of `SpanPreprocessor`. Only for comparison.
"""

import unicodedata

_MAX_WORD = 100  # characters; longer words are [UNK]


class PlainConverter:
  """Makes padded windows; see `WindowOptions` for the lengths."""

  def __init__(self, vocabulary, max_seq_length, doc_stride, max_query_length):
    self._ids = {token: index for index, token in enumerate(vocabulary)}
    self._max_seq_length = max_seq_length
    self._doc_stride = doc_stride
    self._max_query_length = max_query_length

  def windows(self, question, context):
    """Yields the windows of a question as dicts of lists."""
    asked = [i for i, _, _ in self._pieces(question)][: self._max_query_length]
    passage = list(self._pieces(context))
    head = [self._ids["[CLS]"], *asked, self._ids["[SEP]"]]
    room = self._max_seq_length - len(head) - 1
    first = 0
    while passage:
      part = passage[first : first + room]
      yield self._window(head, part)
      if first + room >= len(passage):
        return
      first += min(room, self._doc_stride)

  def _window(self, head, part):
    ids = [*head, *(i for i, _, _ in part), self._ids["[SEP]"]]
    padding = [0] * (self._max_seq_length - len(ids))
    return {
      "input_ids": ids + padding,
      "input_mask": [1] * len(ids) + padding,
      "segment_ids": [0] * len(head) + [1] * (len(part) + 1) + padding,
      "token_char_starts": [start for _, start, _ in part],
      "token_char_ends": [end for _, _, end in part],
    }

  def _pieces(self, text):
    """Yields (id, char_start, char_end) of WordPieces."""
    for word in words_of(text):
      yield from self._pieces_of_word(word)

  def _pieces_of_word(self, word):
    """Greedy: the longest piece in the vocabulary, then the next one."""
    letters = "".join(letter for letter, _ in word)
    whole = self._ids["[UNK]"], word[0][1], word[-1][1] + 1
    if len(letters) > _MAX_WORD:
      yield whole
      return
    pieces, start = [], 0
    while start < len(letters):
      prefix = "##" if start else ""
      for end in range(len(letters), start, -1):
        found = self._ids.get(prefix + letters[start:end])
        if found is not None:
          break
      else:
        yield whole
        return
      pieces.append((found, word[start][1], word[end - 1][1] + 1))
      start = end
    yield from pieces


def words_of(text):
  """Yields lower-cased words without accents, as lists of (letter, offset)."""
  word = []
  for offset, character in enumerate(text):
    for letter in unicodedata.normalize("NFD", character.lower()):
      category = unicodedata.category(letter)
      if category == "Mn" or category == "Cf":
        continue
      if letter.isspace():
        if word:
          yield word
        word = []
      elif _is_token(letter, category):
        if word:
          yield word
        yield [(letter, offset)]
        word = []
      else:
        word.append((letter, offset))
  if word:
    yield word


def _is_token(letter, category):
  """Whether a letter is a token: punctuation or a Chinese character."""
  code = ord(letter)
  if category.startswith("P"):
    return True
  if code < 128:
    return not letter.isalnum() and not letter.isspace()
  return 0x3400 <= code <= 0x4DBF or 0x4E00 <= code <= 0x9FFF
