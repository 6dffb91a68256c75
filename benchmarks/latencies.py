"""Latencies of requests, as figures that are compared."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Latencies:
  """Seconds of each request, in any order.

  Attributes:
    seconds: list of floats.
  """

  seconds: list = dataclasses.field(default_factory=list)

  def __len__(self):
    """Number of requests."""
    return len(self.seconds)

  def add(self, seconds):
    """Notes one more request."""
    self.seconds.append(seconds)

  def percentile(self, percent):
    """Seconds that `percent` of the requests do not exceed.

    The nearest rank: of 100 latencies the 95th smallest is p95.
    """
    if not self.seconds:
      return float("nan")
    rank = -(-len(self.seconds) * percent // 100)  # rounded up
    return sorted(self.seconds)[max(rank, 1) - 1]

  def milliseconds(self, *percents):
    """List of percentiles in milliseconds, with one decimal."""
    return [round(1000 * self.percentile(p), 1) for p in percents]
