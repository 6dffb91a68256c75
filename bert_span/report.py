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

from absl import flags

from bert_span.cli import model_flags, program
from bert_span.cli.tensorflow_import import import_tensorflow

_PREDICT_FILE = model_flags.predict_file_flag()
_NBEST_FILE = flags.DEFINE_string(
  "nbest_file", None, "File nbest_predictions.json of a span head."
)
_PREDICTIONS_FILE = flags.DEFINE_string(
  "predictions_file",
  None,
  "File predictions.json of the same run, whose threshold decided on no "
  "answer; by default the first answer of each n-best list is taken.",
)
_MODEL = flags.DEFINE_string(
  "model",
  None,
  "Model directory, or minilm_squad, that made the predictions; its windows "
  "are counted and --question_id is read by it.",
)
_QUESTION_ID = flags.DEFINE_string(
  "question_id",
  None,
  "Id of a question whose tokens are shown with their start and end "
  "probabilities; needs --model.",
)
_NUM_ERRORS = flags.DEFINE_integer(
  "num_errors",
  50,
  "Number of errors to show, the worst ones; fewer if the page would exceed "
  "5 MB.",
  lower_bound=0,
)
_OUTPUT_FILE = flags.DEFINE_string(
  "output_file", "report.html", "HTML file to write."
)
_WINDOWS = model_flags.window_flags()


def main(argv):
  """Checks the flags and writes the page."""
  program.require(_PREDICT_FILE, _NBEST_FILE, _OUTPUT_FILE)
  if not _MODEL.value:
    program.forbid([_QUESTION_ID, *_WINDOWS], "needs --model")
  program.check_report_extra("jinja2", "matplotlib")
  import_tensorflow()
  window_options = None
  if _MODEL.value:
    saved = model_flags.saved_config(_MODEL.value)
    window_options = model_flags.window_options(saved)
  from bert_span.jobs import html_report

  html_report.write_report(
    _PREDICT_FILE.value,
    _NBEST_FILE.value,
    _OUTPUT_FILE.value,
    _PREDICTIONS_FILE.value,
    _MODEL.value,
    window_options,
    _QUESTION_ID.value,
    _NUM_ERRORS.value,
  )


run = program.entry_point(main)

if __name__ == "__main__":
  run()
