"""How the original may have written a span that it chose.

It writes the span's WordPieces, aligns them with the words they come from, and
cuts those words. Its text differs from the span's own characters in white
space, and in two other cases:

- It returns the whole words if it cannot align them, because of an [UNK] or of
  a letter that becomes two when its accent is stripped.
- It takes the first occurrence of the letters within the words: "S" for the
  last letter of "NASA's".
"""

WHOLE_WORDS = "whole words"
EARLIER_OCCURRENCE = "earlier occurrence"
_BLANKS = " \t\r\n\u202f"


def is_text_of(text, context, entry):
  """Whether the original may have written `text` for this span of ours."""
  return one_blank(text) == one_blank(entry.text) or bool(
    reason_for(text, context, entry)
  )


def reason_for(text, context, entry):
  """Why the original wrote another text than our span's; None if unknown."""
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


def whole_words(context, entry):
  """The words that a span touches, cut and joined as in run_squad."""
  start, end = entry.char_start, entry.char_end
  while start > 0 and context[start - 1] not in _BLANKS:
    start -= 1
  while end < len(context) and context[end] not in _BLANKS:
    end += 1
  return one_blank(context[start:end])


def one_blank(text):
  """The text with all white space as single blanks."""
  return " ".join(text.split())
