"""The texts with which the original may have written a span.

They differ from the span's own characters in three ways, all of them its
alignment (quirks 11 and 12 in ../shared/goldens/README.md): it writes any white
space as one blank; it returns whole words where it cannot align; it takes the
first of several occurrences in the words ("NASA's": "S" for "s").
"""


def one_blank(text):
  """The text with any white space as one blank."""
  return " ".join(text.split())


def whole_words(context, entry):
  """The words an entry touches, as run_squad cuts and joins them."""
  blanks = " \t\r\n\u202f"
  start, end = entry.char_start, entry.char_end
  while start > 0 and context[start - 1] not in blanks:
    start -= 1
  while end < len(context) and context[end] not in blanks:
    end += 1
  return one_blank(context[start:end])


def is_text_of(text, context, entry):
  """Whether the original may have written `text` for this span."""
  return one_blank(text) in (
    one_blank(entry.text),
    whole_words(context, entry),
  ) or _is_earlier_occurrence(text, context, entry)


def _is_earlier_occurrence(text, context, entry):
  """Whether the words hold the span's letters before, in another case.

  As in "NASA's": the span of the last s becomes "S".
  """
  words, lower = whole_words(context, entry), text.lower()
  return (
    text in words
    and lower == one_blank(entry.text).lower()
    and words.lower().count(lower) > 1
  )
