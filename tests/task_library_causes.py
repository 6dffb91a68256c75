"""Why the Task Library's best answer is another one than ours."""

_TOLERANCE = 1e-2  # of scores: its runtime is of 2023

SAME = "the same answer"
WHOLE_WORDS = "the library gives whole words between blanks"
CANDIDATES = "the library tries 5 starts and 5 ends, here 20"
LONGER = "the library takes answers of up to 32 WordPieces, here 30"
UNKNOWN = "NO KNOWN CAUSE"


def cause(context, our, text, score):
  """Why the Task Library's best answer is not ours, or that it is.

  Args:
    context: str.
    our: `Prediction`.
    text, score: of the library's best answer; text is "" for none.

  Returns:
    One of the constants above.
  """
  if text == our.text:
    return SAME
  words = " ".join(_whole_words(context, our.char_start, our.char_end).split())
  if " ".join(text.split()) == words:
    return WHOLE_WORDS
  if not text or our.score > score + _TOLERANCE:
    return CANDIDATES
  if score > our.score + _TOLERANCE:
    return LONGER
  return UNKNOWN


def _whole_words(context, start, end):
  """context[start:end], widened to the blanks around it."""
  start = context.rfind(" ", 0, start) + 1
  behind = context.find(" ", end)
  return context[start : behind if behind >= 0 else len(context)]
