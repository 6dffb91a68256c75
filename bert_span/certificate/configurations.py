"""The settings under which the original's outputs were saved."""

import dataclasses

from bert_span.squad.rules import prediction_examples, training_examples
from bert_span.text.options import WindowOptions

_LONG = WindowOptions(384, 128, 64)
_SHORT = WindowOptions(128, 48, 24)
_TINY = WindowOptions(64, 16, 12)


@dataclasses.dataclass(frozen=True)
class Configuration:
  """One run of the original.

  Attributes:
    name: the letter in the outputs' file names.
    file: its SQuAD file.
    is_training: whether its windows are labelled.
    version_2: run_squad's --version_2_with_negative.
    options: `WindowOptions`.
    is_part: whether the original read these questions out of a longer file, in
      another order.
  """

  name: str
  file: str
  is_training: bool
  version_2: bool
  options: WindowOptions
  is_part: bool = False

  @property
  def is_real(self):
    """Whether its questions are SQuAD's and not made to be difficult."""
    return "edge" not in self.file

  def examples(self, goldens):
    """The examples of its file that are trained on, or all of them."""
    select = training_examples if self.is_training else prediction_examples
    return select(goldens.squad_file(self.file), self.version_2)


REAL = (
  Configuration("a", "squad1_dev_half.json", False, False, _LONG),
  Configuration("b", "squad1_train_part.json", True, False, _LONG),
  Configuration("c", "squad1_dev_half.json", False, False, _SHORT),
  Configuration("d", "squad1_train_part.json", True, False, _SHORT),
  Configuration("e", "squad2_part.json", True, True, _LONG, is_part=True),
  Configuration("f", "squad2_part.json", False, True, _LONG, is_part=True),
)
EDGE = (
  Configuration("g", "edge.json", True, False, _TINY),
  Configuration("h", "edge.json", False, False, _TINY),
  Configuration("i", "edge-v2.json", True, True, _LONG),
  Configuration("j", "edge-v2.json", False, True, _LONG),
  # A stride larger than the window.
  Configuration("k", "edge.json", True, False, WindowOptions(40, 64, 20)),
)
