"""Latencies of requests."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Latencies:
  """Seconds of each request, in any order."""

  seconds: list = dataclasses.field(default_factory=list)

  def __len__(self):
    """Number of requests."""
    return len(self.seconds)

  def add(self, seconds):
    """Adds a request."""
    self.seconds.append(seconds)

  def percentile(self, percent):
    """The percentile by nearest rank: of 100, p95 is the 95th smallest."""
    if not self.seconds:
      return float("nan")
    rank = -(-len(self.seconds) * percent // 100)  # rounded up
    return sorted(self.seconds)[max(rank, 1) - 1]

  def milliseconds(self, *percents):
    """List of percentiles in milliseconds, to one decimal."""
    return [round(1000 * self.percentile(p), 1) for p in percents]
