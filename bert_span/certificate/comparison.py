"""One line of the conformance report."""

import dataclasses

import numpy as np

_MAX_FAILURES = 5


@dataclasses.dataclass
class Comparison:
  """Counts the cases in which this package equals the original."""

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
    """Whether there are cases and only explained ones differ."""
    unequal = self.cases - self.equal
    return self.cases > 0 and unequal <= self.max_unequal and not self.failures

  def add(self, is_equal, case):
    """Counts a case; it is a failure if it is not equal."""
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
    largest = float(differences.max(initial=0.0))
    self.largest_difference = float(
      np.maximum(self.largest_difference, largest)
    )
    self.add(largest <= self.limit, f"{case}: differs by {largest:.2g}")
