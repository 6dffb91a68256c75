r"""Asks a passage questions.

  python -m bert_span.ask --model=DIR --question="Who built the mill?" \
    --context="The mill was built by Anna in 1895."
  python -m bert_span.ask --model=DIR --question="Who?" <passage.txt
  python -m bert_span.ask --model=DIR --context_file=passage.txt --json \
    <one_question_a_line.txt
  python -m bert_span.ask --model=DIR --question="Who built the mill?" \
    --context_glob='notes/**/*.md'

Without --question the questions are typed at a terminal, one after the other,
or read from a pipe, one a line; the model is loaded once. Without --context and
--context_file the passage is read from a pipe.
"""

import dataclasses
import sys

from bert_span.cli.program import program
from bert_span.extractors.options import (
  MODELS,
  ModelOptions,
  PrecisionOptions,
)
from bert_span.options.extras import check_extra
from bert_span.options.fields import changed, option
from bert_span.search.options import SearchOptions
from bert_span.storage.options import FileOptions


@dataclasses.dataclass(frozen=True, kw_only=True)
class AskOptions(ModelOptions, PrecisionOptions, SearchOptions, FileOptions):
  """The options of `bert_span.jobs.ask.ask`."""

  model: str = changed(
    ModelOptions,
    "model",
    help=f"{MODELS}; or a .tflite file of export_tflite.",
  )
  question: tuple[str, ...] = option(
    (),
    "Question to answer; repeat the flag to ask several.",
    repeated=True,
  )
  context: str | None = option(
    None,
    "Text of the passage.",
    conflicts=("context_file", "context_glob"),
  )
  context_file: str | None = option(
    None,
    "UTF-8 file with the passage, instead of `context`; - is stdin.",
    is_input=True,
    conflicts=("context_glob",),
  )
  n_best: int = option(
    3,
    "Number of answers to print, at most n_best_size; a model with a bio head "
    "prints every span of its answer.",
    minimum=1,
  )
  json: bool = option(
    False,
    "Whether to print one JSON object a line for each question.",
  )

  def __post_init__(self):
    super().__post_init__()
    if self.context_glob is not None:
      check_extra("search", "bm25s", "lxml")
    elif self.context is None and self.context_file in (None, "-"):
      if not self.context_file and sys.stdin.isatty():
        raise ValueError(
          "Give `context` or `context_file`, or pipe a passage in."
        )
      if not self.question:
        raise ValueError(
          "`question` is required, as the passage is read from the pipe."
        )


# A terminal shows only answers, and no notes of TensorFlow.
run = program(AskOptions, "bert_span.jobs.ask:ask")

if __name__ == "__main__":
  run()
