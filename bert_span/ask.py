r"""Asks a passage questions.

  python -m bert_span.ask --model=DIR --question="Who built the mill?" \
    --context="The mill was built by Anna in 1895."
  python -m bert_span.ask --model=DIR --question="Who?" <passage.txt
  python -m bert_span.ask --model=DIR --context_file=passage.txt
  python -m bert_span.ask --model=DIR --context_file=passage.txt --json \
    <one_question_a_line.txt

Without --question the questions are typed at a terminal, one after the other,
or read from a pipe, one a line; the model is loaded once. Without --context and
--context_file a pipe holds the passage.
"""

import sys

from absl import flags

from bert_span.cli import model_flags, program, questions
from bert_span.cli.tensorflow_import import import_tensorflow

_MODEL = model_flags.model_flag(", or a .tflite file of export_tflite")
_QUESTION = flags.DEFINE_multi_string(
  "question", None, "Question to answer; repeat the flag to ask several."
)
_CONTEXT = flags.DEFINE_string("context", None, "Text of the passage.")
_CONTEXT_FILE = flags.DEFINE_string(
  "context_file",
  None,
  "UTF-8 text file with the passage, instead of --context; - is standard "
  "input.",
)
_N_BEST = flags.DEFINE_integer(
  "n_best",
  3,
  "Number of answers to print, at most --n_best_size; a model with a bio head "
  "prints every span of its answer.",
  lower_bound=1,
)
_JSON = flags.DEFINE_bool(
  "json", False, "Whether to print one JSON object a line for each question."
)
_VERIFY = model_flags.verify_flag()
model_flags.answer_flags()


def main(argv):
  """Reads the passage and answers every question."""
  _check_flags()
  context = questions.read_passage(_CONTEXT.value, _CONTEXT_FILE.value)
  import_tensorflow()
  saved = model_flags.saved_config_or_tflite(_MODEL.value)
  options = model_flags.answer_options(saved)
  model_flags.check_n_best(_N_BEST, options.decoder)
  from bert_span.jobs import asking

  several = len(_QUESTION.value or ()) != 1
  is_typed = not _QUESTION.value and sys.stdin.isatty()
  asking.ask(
    _MODEL.value,
    context,
    _QUESTION.value or questions.read_questions(),
    options.windows,
    options.decoder,
    asking.AnswerLayout(
      _N_BEST.value,
      _JSON.value,
      blank_lines=several,
      show_questions=several and not is_typed,
    ),
    _VERIFY.value,
  )


def _check_flags():
  program.require(_MODEL)
  program.check(
    _CONTEXT.value is None or _CONTEXT_FILE.value is None,
    "Give either --context or --context_file.",
  )
  is_piped = _CONTEXT.value is None and _CONTEXT_FILE.value in (None, "-")
  program.check(
    not is_piped or _CONTEXT_FILE.value or not sys.stdin.isatty(),
    "The passage is missing: give --context or --context_file, or pipe it in.",
  )
  program.check(
    not is_piped or _QUESTION.value,
    "--question is required when standard input holds the passage.",
  )
  questions.check_questions(_QUESTION)


# Nothing but answers is printed at a terminal.
run = program.entry_point(main, log_level="3")

if __name__ == "__main__":
  run()
