"""Golden files with one change: a check must fail on them."""

import dataclasses
from collections.abc import Callable

from bert_span.certificate.golden_files import GoldenFiles


@dataclasses.dataclass(frozen=True)
class AlteredGoldens(GoldenFiles):
  """Golden files; the value of the file `altered` is change(value)."""

  # Not compared: the checks keep windows and predictions by folder, and these
  # do not depend on it.
  altered: str = dataclasses.field(default="", compare=False)
  change: Callable | None = dataclasses.field(default=None, compare=False)

  def read(self, name):
    """As GoldenFiles, with the change."""
    value = super().read(name)
    return self.change(value) if name == self.altered else value

  def arrays(self, name):
    """As GoldenFiles, with the change."""
    value = super().arrays(name)
    return self.change(value) if name == self.altered else value


def altered(goldens, name, change):
  """A copy of `goldens` in which the file `name` holds change(value)."""
  return AlteredGoldens(
    goldens.folder, goldens.data_folder, goldens.vocab_file, name, change
  )
