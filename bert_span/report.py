r"""Shows what a model gets right and wrong, as one HTML page.

  python -m bert_span.report --predict_file=dev.json \
    --nbest_file=nbest_predictions.json [--predictions_file=predictions.json] \
    [--model=DIR [--question_id=ID]] [--output_file=report.html]

Scores overall and by question word, answer length, answerable or not and, with
--model, number of windows; "no answer" given and due; how far probabilities can
be trusted; the worst errors in their passages; with --question_id how probable
each token is as start and end of the answer. The page loads nothing and can be
sent as it is. Standard output names the file.
"""

from absl import flags

from bert_span.cli import model_flags, program
from bert_span.cli.tensorflow_import import import_tensorflow

_PREDICT_FILE = model_flags.predict_file_flag()
_NBEST_FILE = flags.DEFINE_string(
  "nbest_file",
  None,
  "n-best lists of a span head, as run_squad writes them: "
  "nbest_predictions.json.",
)
_PREDICTIONS_FILE = flags.DEFINE_string(
  "predictions_file",
  None,
  "predictions.json of the same run, whose threshold has decided on no answer; "
  "none takes the first answer of each n-best list.",
)
_MODEL = flags.DEFINE_string(
  "model",
  None,
  "Model directory, or minilm_squad, that made the predictions: its windows "
  "are counted, and --question_id is read by it.",
)
_QUESTION_ID = flags.DEFINE_string(
  "question_id",
  None,
  "Question of --predict_file whose tokens are shown with their probabilities "
  "as start and end; needs --model.",
)
_NUM_ERRORS = flags.DEFINE_integer(
  "num_errors",
  50,
  "Errors to show, the worst ones; fewer where the page would exceed 5 MB.",
  lower_bound=0,
)
_OUTPUT_FILE = flags.DEFINE_string(
  "output_file", "report.html", "HTML file that is written."
)
model_flags.window_flags()


def main(argv):
  """Checks the flags and writes the page."""
  program.refuse_arguments(argv)
  _check_flags()
  # Seconds: only once the flags are known to be right.
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


def run():
  """Entry point of the command bert_span_report."""
  program.run_program(main)


def _check_flags():
  check = program.check
  check(_PREDICT_FILE.value, "--predict_file is required.")
  check(_NBEST_FILE.value, "--nbest_file is required.")
  check(_OUTPUT_FILE.value, "--output_file must name a file.")
  check(
    _MODEL.value or _QUESTION_ID.value is None,
    "--question_id is read by a model: give --model, too.",
  )
  for holder in model_flags.window_flags():
    check(
      _MODEL.value or not holder.present,
      f"--{holder.name} is for --model, whose windows are counted. Give the "
      "model, too, or leave the flag out.",
    )
  program.check_matplotlib()


if __name__ == "__main__":
  run()
