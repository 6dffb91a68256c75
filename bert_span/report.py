r"""Shows what a model gets right and wrong, as one HTML page.

  python -m bert_span.report --predict_file=dev.json \
    --nbest_file=nbest_predictions.json [--predictions_file=predictions.json] \
    [--model=DIR [--question_id=ID]] [--output_file=report.html]

Scores overall and by question word, answer length, answerability and, with
--model, number of windows; precision and recall of "no answer"; calibration of
the probabilities; the worst errors in their passages; with --question_id the
probability of each token to start or end the answer. The page is one file that
loads nothing. Needs the extra: pip install -e '.[report]'.
"""

from bert_span.cli import model_flags, program
from bert_span.cli.option_flags import define_flags, read_flags
from bert_span.jobs.options import ReportOptions
from bert_span.text.options import WindowOptions

_OPTIONS = define_flags(ReportOptions)
(_PREDICT_FILE,) = model_flags.define_shared_flags("predict_file")
_VERIFY = model_flags.define_verify_flag()
_WINDOWS = define_flags(WindowOptions)


@program.entry_point
def run(argv):
  program.require(_PREDICT_FILE, _OPTIONS.nbest_file, _OPTIONS.output_file)
  model = _OPTIONS.model.value
  if not model:
    program.forbid([_OPTIONS.question_id, _VERIFY, *_WINDOWS], "needs --model")
  program.check_extra("report", "jinja2", "matplotlib")
  program.import_tensorflow()
  saved = model_flags.saved_config(model)
  from bert_span.jobs import report

  report.write_report(
    read_flags(ReportOptions),
    predict_file=_PREDICT_FILE.value,
    window_options=read_flags(WindowOptions, saved.get("window")),
    verify=_VERIFY.value,
  )


if __name__ == "__main__":
  run()
