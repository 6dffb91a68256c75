"""Outputs of which one is changed: a check that still holds checks nothing."""

import dataclasses

from bert_span.certificate.golden_files import GoldenFiles


@dataclasses.dataclass(frozen=True)
class AlteredGoldens(GoldenFiles):
  """Golden files of which one reads otherwise.

  Attributes:
    altered: the file's name.
    change: function from its value to another.
  """

  altered: str = ""
  change: object = None

  def read(self, name):
    """As GoldenFiles, but for the one file."""
    value = super().read(name)
    return self.change(value) if name == self.altered else value

  def arrays(self, name):
    """As GoldenFiles, but for the one file."""
    value = super().arrays(name)
    return self.change(value) if name == self.altered else value


def altered(goldens, name, change):
  """A copy of `goldens` in which the file `name` holds change(value)."""
  return AlteredGoldens(
    goldens.folder, goldens.data_folder, goldens.vocab_file, name, change
  )
