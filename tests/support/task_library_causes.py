"""Why the Task Library's best answer is another one than ours."""

_TOLERANCE = 1e-2  # of scores: its runtime is of 2023

SAME = "the same answer"
WHOLE_WORDS = "the library gives whole words between blanks"
CANDIDATES = "the library tries 5 starts and 5 ends, here 20"
LONGER = "the library takes answers of up to 32 WordPieces, here 30"
ROUNDING = "the library's runtime rounds otherwise"
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
  if _words(text) == _words(_widened(context, our)):
    return WHOLE_WORDS
  ours = [e for e in our.n_best if _words(_widened(context, e)) == _words(text)]
  # Several of our spans may be the same whole words; the best one is theirs.
  # Its score is another one, or so near to our answer's that either may win.
  if ours and (
    abs(ours[0].score - score) > _TOLERANCE
    or abs(ours[0].score - our.score) <= _TOLERANCE
  ):
    return ROUNDING
  if not text or our.score > score + _TOLERANCE:
    return CANDIDATES
  if score > our.score + _TOLERANCE:
    return LONGER
  return UNKNOWN


def _words(text):
  return text.split()


def _widened(context, answer):
  """The answer's characters, widened to the blanks around them."""
  start = context.rfind(" ", 0, answer.char_start) + 1
  behind = context.find(" ", answer.char_end)
  return context[start : behind if behind >= 0 else len(context)]
