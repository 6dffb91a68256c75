"""How the original may have written a span that it chose.

It writes the span's WordPieces, aligns them with the words they come from and
cuts those back. Its texts differ from the span's own characters in white space
and for two reasons:

- it returns the whole words where it cannot align: [UNK] among the WordPieces,
  or a letter that becomes two when accents are taken apart;
- it takes the first occurrence of the letters within the words ("NASA's": "S"
  for "s").
"""

WHOLE_WORDS = "whole words"
EARLIER_OCCURRENCE = "earlier occurrence"
_BLANKS = " \t\r\n\u202f"


def one_blank(text):
  """The text with any white space as one blank."""
  return " ".join(text.split())


def whole_words(context, entry):
  """The words that a span touches, as run_squad cuts and joins them.

  Args:
    context: the passage.
    entry: with char_start and char_end, such as NBestEntry.
  """
  start, end = entry.char_start, entry.char_end
  while start > 0 and context[start - 1] not in _BLANKS:
    start -= 1
  while end < len(context) and context[end] not in _BLANKS:
    end += 1
  return one_blank(context[start:end])


def is_text_of(text, context, entry):
  """Whether the original may have written `text` for this span."""
  return one_blank(text) == one_blank(entry.text) or bool(
    reason_for(text, context, entry)
  )


def reason_for(text, context, entry):
  """Why the original wrote another text than the span's characters.

  Args:
    text: the original's, other than `entry.text`.
    context: the passage.
    entry: our span.

  Returns:
    WHOLE_WORDS, EARLIER_OCCURRENCE, or None: it is no text of this span.
  """
  words = whole_words(context, entry)
  if one_blank(text) == words:
    return WHOLE_WORDS
  letters = one_blank(entry.text).lower()
  if (
    text in words
    and text.lower() == letters
    and words.lower().count(letters) > 1
  ):
    return EARLIER_OCCURRENCE
  return None
