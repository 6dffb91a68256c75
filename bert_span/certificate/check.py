"""One line of the certificate, and how its cases are counted."""

import dataclasses

import numpy as np

_MAX_FAILURES = 5


@dataclasses.dataclass(frozen=True)
class Check:
  """What one comparison with the original found.

  Attributes:
    name: what was compared.
    cases: how many of it.
    equal: how many of them are the original's, within `limit` for numbers.
    largest_difference: of numbers, absolute; None where none are compared.
    limit: largest difference that counts as equal; None likewise.
    max_unequal: cases that may differ; they must all be explained.
    notes: sentences for the certificate.
    failures: the first cases that break the point.
  """

  name: str
  cases: int
  equal: int
  largest_difference: float | None = None
  limit: float | None = None
  max_unequal: int = 0
  notes: tuple[str, ...] = ()
  failures: tuple[str, ...] = ()

  @property
  def holds(self):
    """Whether something was compared and nothing differs that may not."""
    unequal = self.cases - self.equal
    return self.cases > 0 and unequal <= self.max_unequal and not self.failures


class Tally:
  """Counts the cases of a `Check`.

  Args:
    name: what is compared.
    limit: largest absolute difference of numbers that counts as equal.
  """

  def __init__(self, name, limit=None):
    self._name = name
    self._limit = limit
    self._largest = None if limit is None else 0.0
    self._cases = self._equal = 0
    self._notes, self._failures = [], []

  def add(self, is_equal, place):
    """Counts a case; one that differs is a failure.

    Args:
      is_equal: whether it is the original's.
      place: which case, for the certificate.
    """
    self._cases += 1
    self._equal += bool(is_equal)
    if not is_equal and len(self._failures) < _MAX_FAILURES:
      self._failures.append(place)

  def add_explained(self):
    """Counts a case that differs for a reason that was checked."""
    self._cases += 1

  def add_numbers(self, ours, originals, place):
    """Counts a case that is an array of numbers.

    Args:
      ours: array.
      originals: array of the same shape.
      place: which case, for the certificate.
    """
    ours = np.asarray(ours, np.float64)
    originals = np.asarray(originals, np.float64)
    if ours.shape != originals.shape:
      self.add(False, f"{place}: shape {ours.shape}, not {originals.shape}")
      return
    # Equal infinities have no difference.
    unequal = ours != originals
    differences = np.abs(ours[unequal] - originals[unequal])
    # A NaN is kept by both maxima and is not within any limit.
    largest = float(differences.max(initial=0.0))
    self._largest = float(np.maximum(self._largest, largest))
    self.add(largest <= self._limit, f"{place}: differs by {largest:.2g}")

  def note(self, sentence):
    """Adds a sentence for the certificate."""
    self._notes.append(sentence)

  def check(self, max_unequal=0):
    """The `Check` of what was counted.

    Args:
      max_unequal: explained cases that may differ.
    """
    return Check(
      self._name,
      self._cases,
      self._equal,
      self._largest,
      self._limit,
      max_unequal,
      tuple(self._notes),
      tuple(self._failures),
    )
