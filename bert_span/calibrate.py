r"""Fits a model's probabilities and its null threshold to labelled questions.

  python -m bert_span.calibrate --model=DIR --predict_file=held_out.json \
    --evaluate_file=other_questions.json

The temperature, the shift of the log-odds and the null threshold are written
into the model's task.json, where programs and extractors read them.
Use questions on which the model was neither trained nor selected.
"""

import dataclasses
import os

from bert_span.cli.program import program
from bert_span.extractors.options import BatchOptions, ModelOptions
from bert_span.options.extras import check_extra
from bert_span.options.fields import REQUIRED, changed, option
from bert_span.squad.options import QuestionsOptions
from bert_span.storage.options import FileOptions


@dataclasses.dataclass(frozen=True, kw_only=True)
class CalibrateOptions(QuestionsOptions, BatchOptions, FileOptions):
  """The options of `bert_span.jobs.calibrate.calibrate`."""

  model: str = option(
    REQUIRED,
    "Model directory that run_squad or save_to_preset wrote, with a span head.",
    is_input=True,
  )
  verify: bool = changed(ModelOptions, "verify")
  evaluate_file: str | None = option(
    None,
    "SQuAD file with other questions, on which the fit is evaluated.",
    is_input=True,
  )
  version_2_with_negative: bool | None = option(
    None, "Whether questions may be unanswerable; by default as in the model."
  )
  target_precision: float | None = option(
    None,
    "Share of the given answers that must be exact matches, from 0 to 1; by "
    "default the null threshold is the one with the best F1.",
    minimum=0.0,
    maximum=1.0,
    conflicts=("target_answered",),
  )
  target_answered: float | None = option(
    None,
    "Share of the answerable questions that must get an answer, from 0 to 1; "
    "instead of target_precision.",
    minimum=0.0,
    maximum=1.0,
  )
  output_dir: str | None = option(
    None,
    "Folder for calibration.json and the plots; by default the folder "
    "calibration in the model directory.",
    is_output=True,
    writes={None: ("calibration.json", "reliability.png", "risk_coverage.png")},
  )
  plots: bool = option(
    True,
    "Whether to draw reliability.png and risk_coverage.png; needs matplotlib.",
  )

  def __post_init__(self):
    if not self.output_dir and self.model:
      folder = os.path.join(self.model, "calibration")
      object.__setattr__(self, "output_dir", folder)
    super().__post_init__()
    if self.plots:
      check_extra("report", "matplotlib", otherwise=", or give `plots`=False")


run = program(CalibrateOptions, "bert_span.jobs.calibrate:calibrate")

if __name__ == "__main__":
  run()
