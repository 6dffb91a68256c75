r"""Checks a SQuAD file before hours of training.

  python -m bert_span.lint_squad train.json --preset=all-minilm-l6-v2
  python -m bert_span.lint_squad train.json --vocab_file=vocab.txt --json
  python -m bert_span.lint_squad train.json --fix --strict

Findings come first, the gravest at the top, then figures on lengths, windows
and [UNK]. An error stops training; a warning costs something: a question is
lost, learnt wrongly or cannot be answered right; a note is good to know.
Without --preset and --vocab_file only what needs no WordPieces is checked.

--fix writes a copy with every answer_start corrected whose answer is found
elsewhere in its passage, and with integer ids as strings; nothing else of the
file changes.

Exit status: 1 with an error, or a file that cannot be read; with --strict also
with a warning; else 0. With --fix, what is repaired does not count.
"""

from absl import flags

from bert_span.cli import model_flags, program
from bert_span.cli.tensorflow_import import import_tensorflow

_PRESET = flags.DEFINE_string(
  "preset",
  None,
  "Model to train from or to predict with: what run_squad takes as --preset, "
  "or a model directory of its. Gives vocabulary, sizes and window flags.",
)
_JSON = flags.DEFINE_bool(
  "json", False, "Whether to print one JSON object instead of text."
)
_FIX = flags.DEFINE_bool(
  "fix", False, "Whether to write a repaired copy and a log of each change."
)
_OUTPUT_FILE = flags.DEFINE_string(
  "output_file",
  None,
  "File of the repaired copy; none is FILE with .fixed.json at its end. The "
  "log stands beside it, with .changes.jsonl at its end.",
)
_STRICT = flags.DEFINE_bool(
  "strict", False, "Whether warnings, too, give the exit status 1."
)
_NUM_PLACES = flags.DEFINE_integer(
  "num_places",
  3,
  "Places that the text names of each kind of warning; of errors it names all, "
  "of notes none.",
  lower_bound=0,
)
_MAX_ANSWER_LENGTH = flags.DEFINE_integer(
  "max_answer_length", 30, "Longest answer in WordPieces.", lower_bound=1
)
_LENGTH_BUCKETS = flags.DEFINE_integer(
  "length_buckets",
  32,
  "Multiple that batches are padded to, in WordPieces, as in run_squad.",
  lower_bound=1,
)
_HIDDEN_SIZE = flags.DEFINE_integer(
  "hidden_size",
  768,
  "Hidden size of the encoder, for the costs; --preset knows it.",
  lower_bound=1,
)
_VOCABULARY = model_flags.vocabulary_flags()
model_flags.window_flags()


def main(argv):
  """Lints the file; returns the exit status."""
  _check_flags(argv)
  from bert_span.jobs import linting

  has_vocabulary = _PRESET.value or _VOCABULARY.vocab_file.value
  passes = linting.lint(
    argv[1],
    linting.LintedModel(**_model_values()) if has_vocabulary else None,
    fix=_FIX.value,
    output_file=_OUTPUT_FILE.value,
    strict=_STRICT.value,
    num_places=_NUM_PLACES.value,
    as_json=_JSON.value,
  )
  return int(not passes)


def run():
  """Entry point of the installed command."""
  program.run_program(main)


def _check_flags(argv):
  check = program.check
  check(
    len(argv) == 2 and argv[1],
    "Give the one FILE to check: lint_squad FILE [--preset=MODEL]. Received: "
    f"{' '.join(argv[1:]) or 'none'}",
  )
  check(
    not (_PRESET.value and _VOCABULARY.vocab_file.value),
    "--preset knows its vocabulary: leave out --vocab_file.",
  )
  for name, holder in (
    ("do_lower_case", _VOCABULARY.do_lower_case),
    ("hidden_size", _HIDDEN_SIZE),
  ):
    check(
      not (_PRESET.value and holder.present),
      f"--{name} belongs to --vocab_file; --preset knows it. Leave it out.",
    )
  check(
    _FIX.value or not _OUTPUT_FILE.present,
    "--output_file names the repaired copy: give --fix, too.",
  )


def _model_values():
  """The values of a `LintedModel`; a preset says what the flags do not."""
  import_tensorflow()
  saved = model_flags.saved_config(_PRESET.value) or {}
  max_answer_length = _MAX_ANSWER_LENGTH.value
  if not _MAX_ANSWER_LENGTH.present:
    decoder = saved.get("decoder", {})
    max_answer_length = decoder.get("max_answer_length", max_answer_length)
  lower_case = _VOCABULARY.do_lower_case.value
  if _PRESET.value:
    lower_case = saved.get("do_lower_case")
  return {
    "window_options": model_flags.window_options(saved),
    "preset": _PRESET.value,
    "vocab_file": _VOCABULARY.vocab_file.value,
    "do_lower_case": lower_case,
    "max_answer_length": max_answer_length,
    "length_bucket": _LENGTH_BUCKETS.value,
    "hidden_size": _HIDDEN_SIZE.value,
  }


if __name__ == "__main__":
  run()
