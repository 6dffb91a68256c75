"""Finds an answer's text in its passage."""

from typing import NamedTuple

NOT_LOCATED = -1


class Location(NamedTuple):
  """Where an answer is in its passage.

  Attributes:
    char_start: offset in characters, NOT_LOCATED when it is not clear.
    moved: whether this differs from the stated offset.
    detail: for reports: what was found instead; "" for the stated offset.
  """

  char_start: int
  moved: bool = False
  detail: str = ""


def locate_answer(context: str, text: str, char_start: int) -> Location:
  """Finds an answer at its stated offset, or at the only other place it fits.

  The answer is moved when its text occurs exactly once in the passage, or else
  exactly once within the words that the stated span touches. So a span that is
  off by a character or two still counts, as in run_squad, which compares whole
  words:

    context "the plan and a plan", text "plan"
    char_start 4   "plan"   as stated
    char_start 3   " pla"   touches "the plan", one "plan" there: moved to 4
    char_start 9   "and "   touches "and a", no "plan" there: not located

  Args:
    context: the passage.
    text: the answer.
    char_start: its stated offset in characters; any integer.

  Returns:
    The Location; blank texts are never located.
  """
  if not text.strip():
    return Location(NOT_LOCATED, detail="the answer's text is blank")
  if char_start >= 0 and context.startswith(text, char_start):
    return Location(char_start)
  stated = _describe_stated(context, text, char_start)
  starts = _occurrences(context, text)
  if not starts:
    return Location(NOT_LOCATED, detail=f"{stated}; the passage lacks it")
  if len(starts) > 1:
    first, end = _touched_words(context, char_start, char_start + len(text))
    near = [first + start for start in _occurrences(context[first:end], text)]
    if len(near) != 1:
      several = ", ".join(map(str, starts[:5]))
      several += ", ..." if len(starts) > 5 else ""
      return Location(
        NOT_LOCATED, detail=f"{stated}; it is at several: {several}"
      )
    starts = near
  return Location(starts[0], True, f"{stated}; it is at {starts[0]}")


def _describe_stated(context, text, char_start):
  excerpt = text if len(text) <= 40 else text[:37] + "..."
  if not 0 <= char_start < len(context):
    return (
      f"answer_start {char_start} of {excerpt!r} is outside the passage of "
      f"{len(context)} characters"
    )
  found = context[char_start : char_start + min(len(text), 40)]
  return f"{excerpt!r} is not at answer_start {char_start} ({found!r} is)"


def _occurrences(context, text):
  """All offsets of a text, overlapping ones too."""
  starts = []
  start = context.find(text)
  while start >= 0:
    starts.append(start)
    start = context.find(text, start + 1)
  return starts


def _touched_words(context, first, end):
  """Widens [first, end) to whole words.

  As run_squad: a blank has the index of the word before it.
  """
  if not 0 <= first < len(context):
    return 0, 0
  while first > 0 and context[first].isspace():
    first -= 1
  while first > 0 and not context[first - 1].isspace():
    first -= 1
  end = min(end, len(context))
  while end < len(context) and not (
    context[end].isspace() or context[end - 1].isspace()
  ):
    end += 1
  return first, end
