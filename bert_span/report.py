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
from bert_span.cli.option_flags import OptionFlags
from bert_span.jobs.options import ReportOptions
from bert_span.text.options import WindowOptions

_OPTIONS = OptionFlags(ReportOptions)
_SHARED = model_flags.shared_flags("predict_file", "verify")
_WINDOWS = OptionFlags(WindowOptions)


@program.entry_point
def run(argv):
  program.require(
    _SHARED.predict_file, _OPTIONS.nbest_file, _OPTIONS.output_file
  )
  model = _OPTIONS.model.value
  if not model:
    of_model = [_OPTIONS.question_id, _SHARED.verify, *_WINDOWS]
    program.forbid(of_model, "needs --model")
  program.check_extra("report", "jinja2", "matplotlib")
  program.import_tensorflow()
  window_options = model_flags.window_options(model_flags.saved_config(model))
  from bert_span.jobs import report

  report.write_report(
    _OPTIONS.options(), window_options=window_options, **_SHARED.values()
  )


if __name__ == "__main__":
  run()
