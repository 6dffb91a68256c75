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
--context_file a pipe holds the passage.
"""

import sys

from absl import flags

from bert_span.cli import model_flags, program, questions
from bert_span.cli.option_flags import define_flags, read_flags
from bert_span.options.fields import INT32_MAX
from bert_span.search.options import SearchOptions

_MODEL = model_flags.define_model_flag(", or a .tflite file of export_tflite")
_QUESTION = flags.DEFINE_multi_string(
  "question", None, "Question to answer; repeat the flag to ask several."
)
_CONTEXT = flags.DEFINE_string("context", None, "Text of the passage.")
_CONTEXT_FILE = flags.DEFINE_string(
  "context_file",
  None,
  "UTF-8 file with the passage, instead of --context; - is stdin.",
)
_N_BEST = flags.DEFINE_integer(
  "n_best",
  3,
  "Number of answers to print, at most --n_best_size; a model with a bio head "
  "prints every span of its answer.",
  lower_bound=1,
  upper_bound=INT32_MAX,
)
_JSON = flags.DEFINE_bool(
  "json", False, "Whether to print one JSON object a line for each question."
)
define_flags(SearchOptions)
_DTYPE = model_flags.define_dtype_flag()
model_flags.define_extractor_flags()


# Nothing but answers is printed at a terminal.
@program.entry_point(log_level="3")
def run(argv):
  program.require(_MODEL)
  questions.check_questions(_QUESTION)
  search = read_flags(SearchOptions)
  is_search = search.context_glob is not None
  sources = (_CONTEXT.value, _CONTEXT_FILE.value, search.context_glob)
  if sources.count(None) < 2:
    raise ValueError("Give --context, --context_file or --context_glob.")
  if is_search:
    program.check_extra("search", "bm25s", "lxml")
  else:
    _check_pipe()
    context = questions.read_passage(
      _CONTEXT.value, _CONTEXT_FILE.value, search.max_document_bytes
    )
  options = model_flags.extractor_options(_MODEL.value)
  model_flags.check_n_best(_N_BEST, options["decoder_options"])
  from bert_span.jobs import ask

  if ask.is_tflite(_MODEL.value):
    program.forbid([_DTYPE], "is fixed in a .tflite file")
    if is_search:
      raise ValueError(
        "--context_glob needs a model directory: a .tflite file answers "
        "questions about one passage, --context_file."
      )
  else:
    options["dtype"] = _DTYPE.value
  several = len(_QUESTION.value or ()) != 1
  is_typed = not _QUESTION.value and sys.stdin.isatty()
  asked = _QUESTION.value or questions.enter_questions()
  layout = ask.AnswerLayout(
    _N_BEST.value,
    _JSON.value,
    blank_lines=several,
    show_questions=several and not is_typed,
  )
  if is_search:
    ask.ask_folder(_MODEL.value, search, asked, layout, **options)
  else:
    ask.ask(_MODEL.value, context, asked, layout, **options)


def _check_pipe():
  """Checks that standard input has the passage where no flag has it."""
  if _CONTEXT.value is not None or _CONTEXT_FILE.value not in (None, "-"):
    return
  if not _CONTEXT_FILE.value and sys.stdin.isatty():
    raise ValueError("Give --context or --context_file, or pipe a passage in.")
  if not _QUESTION.value:
    raise ValueError("--question is required: a pipe holds the passage.")


if __name__ == "__main__":
  run()
