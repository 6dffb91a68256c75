r"""Checks a SQuAD file before hours of training.

  python -m bert_span.lint_squad train.json --preset=all-minilm-l6-v2
  python -m bert_span.lint_squad train.json --vocab_file=vocab.txt --json
  python -m bert_span.lint_squad train.json --fix --strict

Prints findings, the gravest first, then lengths, windows and [UNK]. An error
stops training. A warning costs something: a question is lost, learned wrongly
or cannot be answered right. A note is good to know. Without --preset and
--vocab_file only the checks that need no WordPieces are made.

--fix writes a copy in which each wrong answer_start is corrected if the answer
is found elsewhere in its passage, and integer ids become strings; nothing else
changes.

The exit status is 1 with an error, or if the file cannot be read; with --strict
also with a warning; else 0. What --fix repairs does not count.
"""

from absl import flags

from bert_span.cli import model_flags, program
from bert_span.cli.tensorflow_import import import_tensorflow

_PRESET = flags.DEFINE_string(
  "preset",
  None,
  "Model to train from or to predict with: a --preset of run_squad or a model "
  "directory; gives vocabulary, sizes and window flags.",
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
  "File of the repaired copy; by default FILE with the ending .fixed.json. The "
  "log is beside it, with the ending .changes.jsonl.",
)
_STRICT = flags.DEFINE_bool(
  "strict", False, "Whether warnings also give the exit status 1."
)
_NUM_PLACES = flags.DEFINE_integer(
  "num_places",
  3,
  "Number of places that the text names for each kind of warning; it names all "
  "places of errors and none of notes.",
  lower_bound=0,
)
_LENGTH_BUCKETS = flags.DEFINE_integer(
  "length_buckets",
  32,
  "Multiple to which batches are padded, in WordPieces, as in run_squad.",
  lower_bound=1,
)
_HIDDEN_SIZE = flags.DEFINE_integer(
  "hidden_size",
  768,
  "Hidden size of the encoder, for the costs; --preset knows it.",
  lower_bound=1,
)
_DECODER = model_flags.span_flags("max_answer_length")
_VOCABULARY = model_flags.vocabulary_flags()
model_flags.window_flags()


def main(argv):
  """Lints the file; returns the exit status."""
  program.check(
    len(argv) == 2 and argv[1],
    "Give the one FILE to check: lint_squad FILE [--preset=MODEL]. Received: "
    f"{' '.join(argv[1:]) or 'none'}",
  )
  if _PRESET.value:
    known = (*_VOCABULARY, _HIDDEN_SIZE)
    program.forbid(known, "is known from --preset")
  if not _FIX.value:
    program.forbid([_OUTPUT_FILE], "names the repaired copy and needs --fix")
  has_vocabulary = _PRESET.value or _VOCABULARY.vocab_file.value
  values = _model_values() if has_vocabulary else None
  from bert_span.jobs import linting

  passes = linting.lint(
    argv[1],
    linting.LintedModel(**values) if values else None,
    fix=_FIX.value,
    output_file=_OUTPUT_FILE.value,
    strict=_STRICT.value,
    num_places=_NUM_PLACES.value,
    as_json=_JSON.value,
  )
  return int(not passes)


def _model_values():
  """Returns the values of a `LintedModel`, from --preset or the flags."""
  import_tensorflow()
  saved = model_flags.saved_config(_PRESET.value) or {}
  lower_case = _VOCABULARY.do_lower_case.value
  return {
    "window_options": model_flags.window_options(saved),
    "preset": _PRESET.value,
    "vocab_file": _VOCABULARY.vocab_file.value,
    "do_lower_case": saved.get("do_lower_case")
    if _PRESET.value
    else lower_case,
    **_DECODER.values(saved.get("decoder")),
    "length_bucket": _LENGTH_BUCKETS.value,
    "hidden_size": _HIDDEN_SIZE.value,
  }


run = program.entry_point(main, arguments=True)

if __name__ == "__main__":
  run()
