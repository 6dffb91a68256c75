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

import dataclasses

from bert_span.cli.program import program
from bert_span.extractors.options import ModelOptions
from bert_span.options.extras import check_extra
from bert_span.options.fields import REQUIRED, changed, option
from bert_span.squad.options import QuestionsOptions
from bert_span.storage.options import FileOptions
from bert_span.text.options import WindowOptions


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReportOptions(QuestionsOptions, WindowOptions, FileOptions):
  """The options of `bert_span.jobs.report.report`."""

  nbest_file: str = option(
    REQUIRED, "File nbest_predictions.json of a span head.", is_input=True
  )
  predictions_file: str | None = option(
    None,
    "File predictions.json of the same run, whose threshold decided on no "
    "answer; by default the first answer of each n-best list is taken.",
    is_input=True,
  )
  model: str | None = option(
    None,
    "Model directory, or minilm_squad, that made the predictions; with it the "
    "page has the number of windows, and question_id can be given.",
    is_input=True,
  )
  verify: bool = changed(ModelOptions, "verify", needs=("model",))
  question_id: str | None = option(
    None,
    "Id of a question whose tokens are shown with their start and end "
    "probabilities; needs `model`.",
    needs=("model",),
  )
  num_errors: int = option(
    50,
    "Number of errors to show, the worst first; fewer if the page would exceed "
    "5 MB.",
    minimum=0,
  )
  output_file: str = option(
    "report.html", "HTML file to write.", is_output=True
  )

  def __post_init__(self):
    # Windows are checked with those that the model has saved, when it is read.
    super(WindowOptions, self).__post_init__()
    for name in () if self.model else self.given(WindowOptions):
      raise ValueError(f"`{name}` needs `model`.")
    check_extra("report", "jinja2", "matplotlib")


run = program(ReportOptions, "bert_span.jobs.report:report")

if __name__ == "__main__":
  run()
