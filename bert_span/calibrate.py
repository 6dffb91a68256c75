r"""Fits a model's probabilities and its null threshold to labelled questions.

  python -m bert_span.calibrate --model=DIR --predict_file=held_out.json \
    --evaluate_file=other_questions.json

The temperature, the shift of the log-odds and the null threshold are written
into the model's span_config.json, where programs and SpanExtractor read them.
Use questions on which the model was neither trained nor selected.
"""

from bert_span.cli import model_flags, program
from bert_span.cli.option_flags import OptionFlags
from bert_span.storage.options import option


class _Options:
  model: str | None = option(
    None,
    "Model directory that run_squad or save_to_preset wrote, with a span head.",
  )
  evaluate_file: str | None = option(
    None, "SQuAD JSON file with other questions, on which the fit is evaluated."
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
  )
  output_dir: str | None = option(
    None,
    "Folder for calibration.json and the plots; by default the folder "
    "calibration in the model directory.",
  )
  plots: bool = option(
    True,
    "Whether to draw reliability.png and risk_coverage.png; needs matplotlib.",
  )


_OPTIONS = OptionFlags(_Options)
_SHARED = model_flags.shared_flags(
  "predict_file", "predict_batch_size", "verify"
)


@program.entry_point
def main(argv):
  program.require(_OPTIONS.model, _SHARED.predict_file)
  if _OPTIONS.plots.value:
    program.check_extra("report", "matplotlib", otherwise=", or give --noplots")
  program.import_tensorflow()
  from bert_span.jobs import calibration_job

  calibration_job.calibrate(**_OPTIONS.values(), **_SHARED.values())


if __name__ == "__main__":
  main()
