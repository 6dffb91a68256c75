r"""Asks a passage questions.

  python -m bert_span.ask --model=DIR --question="Who built the mill?" \
    --context="The mill was built by Anna in 1895."
  python -m bert_span.ask --model=DIR --question="Who?" <passage.txt
  python -m bert_span.ask --model=DIR --context_file=passage.txt
  python -m bert_span.ask --model=DIR --context_file=passage.txt --json \
    <one_question_a_line.txt

Without --question a terminal is asked for questions, one after the other, and
a pipe is read as one question a line; the model is loaded once. Without
--context and --context_file a pipe holds the passage.
"""

import sys

from absl import flags

from bert_span.cli import model_flags, program, questions
from bert_span.cli.tensorflow_import import import_tensorflow

_MODEL = flags.DEFINE_string(
  "model",
  None,
  "minilm_squad, the model that comes with the package; a model directory that "
  "run_squad or save_to_preset wrote; a Hugging Face directory of a BERT with "
  "a question-answering head; or a .tflite file of export_tflite.",
)
_QUESTION = flags.DEFINE_multi_string(
  "question", None, "Question to answer; repeat the flag to ask several."
)
_CONTEXT = flags.DEFINE_string("context", None, "Passage that is asked.")
_CONTEXT_FILE = flags.DEFINE_string(
  "context_file",
  None,
  "UTF-8 text file with the passage, instead of --context; - is standard "
  "input.",
)
_N_BEST = flags.DEFINE_integer(
  "n_best",
  3,
  "Answers to show, at most --n_best_size; a model with a bio head shows every "
  "span of its answer.",
  lower_bound=1,
)
_JSON = flags.DEFINE_bool(
  "json", False, "Whether to print one JSON object a question, in a line."
)
model_flags.window_flags()
model_flags.decoder_flags()
model_flags.head_flag()
model_flags.bio_decoder_flags()


def main(argv):
  """Reads the passage and answers every question."""
  program.refuse_arguments(argv)
  _check_flags()
  context = questions.read_passage(_CONTEXT.value, _CONTEXT_FILE.value)
  # Seconds: only once flags and passage are known to be right.
  import_tensorflow()
  saved = model_flags.saved_config_or_tflite(_MODEL.value)
  head = model_flags.head_of_model(saved)
  decoder_options = model_flags.decoder_options(saved, head)
  model_flags.check_n_best(_N_BEST, decoder_options)
  from bert_span.jobs import asking

  several = len(_QUESTION.value or ()) != 1
  is_typed = not _QUESTION.value and sys.stdin.isatty()
  asking.ask(
    _MODEL.value,
    context,
    _QUESTION.value or questions.read_questions(),
    model_flags.window_options(saved),
    decoder_options,
    asking.AnswerLayout(
      _N_BEST.value,
      _JSON.value,
      blank_lines=several,
      show_questions=several and not is_typed,
    ),
  )


def run():
  """Entry point of the installed command."""
  # Nothing but answers on the terminal.
  program.run_program(main, log_level="3")


def _check_flags():
  check = program.check
  check(_MODEL.value, "--model is required.")
  check(
    _CONTEXT.value is None or _CONTEXT_FILE.value is None,
    "--context and --context_file exclude each other. Give one of them.",
  )
  if _context_is_piped():
    check(
      not sys.stdin.isatty() or _CONTEXT_FILE.value,
      "The passage is missing: give --context or --context_file, or pipe it "
      "in.",
    )
    check(
      _QUESTION.value,
      "--question is required when standard input holds the passage.",
    )
  for question in _QUESTION.value or ():
    check(question.strip(), "--question is empty: write the question there.")


def _context_is_piped():
  if _CONTEXT_FILE.value is not None:
    return _CONTEXT_FILE.value == "-"
  return _CONTEXT.value is None


if __name__ == "__main__":
  run()
