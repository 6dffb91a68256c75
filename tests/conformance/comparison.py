"""Compares numbers and texts with the original's, case by case."""

import dataclasses

import numpy as np

_BLANKS = " \t\r\n\u202f"
_MAX_FAILURES = 5


@dataclasses.dataclass
class Comparison:
  """A line of the report: in how many cases this package is the original."""

  name: str
  limit: float | None = None  # Largest difference of equal numbers.
  max_unequal: int = 0  # Explained cases that may differ.
  cases: int = 0
  equal: int = 0
  largest_difference: float = 0.0
  notes: list[str] = dataclasses.field(default_factory=list)
  failures: list[str] = dataclasses.field(default_factory=list)

  @property
  def passes(self):
    unequal = self.cases - self.equal
    return self.cases > 0 and unequal <= self.max_unequal and not self.failures

  def add(self, is_equal, case):
    self.cases += 1
    self.equal += bool(is_equal)
    if not is_equal and len(self.failures) < _MAX_FAILURES:
      self.failures.append(case)

  def add_explained(self):
    """Counts a case that differs for a known reason."""
    self.cases += 1

  def add_numbers(self, ours, originals, case):
    """Counts an array as one case, equal within `limit`."""
    ours = np.asarray(ours, np.float64)
    originals = np.asarray(originals, np.float64)
    if ours.shape != originals.shape:
      self.add(False, f"{case}: shape {ours.shape}, not {originals.shape}")
      return
    # Subtracting equal infinities would give NaN.
    unequal = ours != originals
    differences = np.abs(ours[unequal] - originals[unequal])
    # Both maxima keep a NaN, which is not within any limit.
    largest = differences.max(initial=0.0)
    self.largest_difference = np.maximum(self.largest_difference, largest)
    self.add(largest <= self.limit, f"{case}: differs by {largest:.2g}")


def is_text_of(text, context, entry):
  """Whether the original may have written `text` for this span of ours."""
  same = one_blank(text) == one_blank(entry.text)
  return same or bool(reason_for(text, context, entry))


def reason_for(text, context, entry):
  """Why the original wrote another text than our span's; None if unknown."""
  if not entry.text:
    return None
  words = whole_words(context, entry)
  # It cannot align WordPieces and words at an [UNK], or a letter that becomes
  # two when its accent is stripped.
  if one_blank(text) == words:
    return "whole words"
  # It takes the first of equal letters: "S" for the last letter of "NASA's".
  letters = one_blank(entry.text).lower()
  is_repeated = words.lower().count(letters) > 1
  if text in words and text.lower() == letters and is_repeated:
    return "earlier occurrence"
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
