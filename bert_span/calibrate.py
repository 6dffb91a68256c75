r"""Fits a model's probabilities and its null threshold to labelled questions.

  python -m bert_span.calibrate --model=DIR --predict_file=held_out.json \
    --evaluate_file=other_questions.json

The temperature, the shift of the log-odds and the null threshold are written
into the model's task.json, where programs and extractors read them.
Use questions on which the model was neither trained nor selected.
"""

from bert_span.cli import model_flags, program
from bert_span.cli.option_flags import define_flags, read_flags
from bert_span.jobs.options import CalibrationOptions

_OPTIONS = define_flags(CalibrationOptions)
_PREDICT_FILE, _BATCH_SIZE = model_flags.define_shared_flags(
  "predict_file", "predict_batch_size"
)
_VERIFY = model_flags.define_verify_flag()


@program.entry_point
def run(argv):
  program.require(_OPTIONS.model, _PREDICT_FILE)
  if _OPTIONS.plots.value:
    program.check_extra("report", "matplotlib", otherwise=", or give --noplots")
  program.import_tensorflow()
  from bert_span.jobs import calibrate

  calibrate.calibrate(
    read_flags(CalibrationOptions),
    predict_file=_PREDICT_FILE.value,
    predict_batch_size=_BATCH_SIZE.value,
    verify=_VERIFY.value,
  )


if __name__ == "__main__":
  run()
