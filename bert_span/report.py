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
from bert_span.storage.options import option
from bert_span.text.options import WindowOptions


class _Options:
  nbest_file: str | None = option(
    None, "File nbest_predictions.json of a span head."
  )
  predictions_file: str | None = option(
    None,
    "File predictions.json of the same run, whose threshold decided on no "
    "answer; by default the first answer of each n-best list is taken.",
  )
  model: str | None = option(
    None,
    "Model directory, or minilm_squad, that made the predictions; its windows "
    "are counted and --question_id is read by it.",
  )
  question_id: str | None = option(
    None,
    "Id of a question whose tokens are shown with their start and end "
    "probabilities; needs --model.",
  )
  num_errors: int = option(
    50,
    "Number of errors to show, the worst; fewer if the page exceeds 5 MB.",
    minimum=0,
  )
  output_file: str = option("report.html", "HTML file to write.")


_OPTIONS = OptionFlags(_Options)
_SHARED = model_flags.shared_flags("predict_file", "verify")
_WINDOWS = OptionFlags(WindowOptions)


@program.entry_point
def main(argv):
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
  from bert_span.jobs import html_report

  html_report.write_report(
    window_options=window_options, **_SHARED.values(), **_OPTIONS.values()
  )


if __name__ == "__main__":
  main()
