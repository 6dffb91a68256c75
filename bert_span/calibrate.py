r"""Fits a model's probabilities and its null threshold to labelled questions.

  python -m bert_span.calibrate --model=DIR --predict_file=held_out.json \
    --evaluate_file=other_questions.json

The temperature and the null threshold are written into the model's
span_config.json. run_squad --do_predict, decode --model, ask, SpanExtractor and
the exports read them there. Use questions on which the model was neither
trained nor selected.
"""

from absl import flags

from bert_span.cli import model_flags, program
from bert_span.cli.tensorflow_import import import_tensorflow

_MODEL = flags.DEFINE_string(
  "model",
  None,
  "Model directory that run_squad or save_to_preset wrote, with a span head.",
)
_PREDICT_FILE = model_flags.shared_flag("predict_file")
_VERSION_2 = model_flags.version_2_flag()
_BATCH_SIZE = model_flags.shared_flag("predict_batch_size")
_EVALUATE_FILE = flags.DEFINE_string(
  "evaluate_file",
  None,
  "SQuAD JSON file with other questions, on which the fit is evaluated.",
)
_TARGET_PRECISION = flags.DEFINE_float(
  "target_precision",
  None,
  "Share of the given answers that must be exact matches, from 0 to 1; by "
  "default the null threshold is the one with the best F1.",
  lower_bound=0.0,
  upper_bound=1.0,
)
_OUTPUT_DIR = flags.DEFINE_string(
  "output_dir",
  None,
  "Folder for calibration.json and the plots; by default the folder "
  "calibration in the model directory.",
)
_PLOTS = flags.DEFINE_bool(
  "plots",
  True,
  "Whether to draw reliability.png and risk_coverage.png; needs matplotlib.",
)


def main(argv):
  """Checks the flags and calibrates the model."""
  program.require(_MODEL, _PREDICT_FILE)
  if _PLOTS.value:
    program.check_extra("report", "matplotlib", otherwise=", or give --noplots")
  import_tensorflow()
  from bert_span.jobs import calibration_job

  calibration_job.calibrate(
    _MODEL.value,
    _PREDICT_FILE.value,
    _EVALUATE_FILE.value,
    _VERSION_2.value if _VERSION_2.present else None,
    _TARGET_PRECISION.value,
    _BATCH_SIZE.value,
    _OUTPUT_DIR.value,
    _PLOTS.value,
  )


run = program.entry_point(main)

if __name__ == "__main__":
  run()
