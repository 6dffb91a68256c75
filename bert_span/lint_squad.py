r"""Checks a SQuAD file before hours of training.

  python -m bert_span.lint_squad train.json --preset=all-minilm-l6-v2
  python -m bert_span.lint_squad train.json --vocab_file=vocab.txt --json
  python -m bert_span.lint_squad train.json --fix --strict

The report lists findings, the most severe first, then figures on lengths. An
error stops training. A warning costs something: a question is skipped, learned
wrongly or cannot be answered correctly. A note is legal. Without --preset or
--vocab_file only checks without WordPieces are made.

--fix writes a copy. In it, answers found elsewhere in their passage have the
correct answer_start, and integer ids are strings; nothing else changes.

Exit status: 1 for an error or an unreadable file, with --strict also for a
warning; else 0. With --fix, repaired findings do not count.
"""

from bert_span.cli import model_flags, program
from bert_span.cli.option_flags import define_flags, read_flags
from bert_span.jobs.options import LintOptions
from bert_span.reporting.lint_options import LintSettings
from bert_span.text.options import WindowOptions

_FILES = define_flags(LintOptions)
_LINT = define_flags(LintSettings)
_VOCABULARY = model_flags.define_vocabulary_flags()
define_flags(WindowOptions)


@program.entry_point(arguments=True)
def run(argv):
  """Lints the file; returns the exit status."""
  if len(argv) != 2 or not argv[1]:
    raise ValueError(
      "Give the one FILE to check: lint_squad FILE [--preset=MODEL]. Received: "
      f"{' '.join(argv[1:]) or 'none'}"
    )
  preset, settings = _LINT.preset.value, None
  vocab_file, lower_case = (holder.value for holder in _VOCABULARY)
  if preset:
    program.forbid(_VOCABULARY, "is known from --preset")
  if not _FILES.fix.value:
    program.forbid([_FILES.output_file], "names the repaired copy of --fix")
  if preset or vocab_file:
    program.import_tensorflow()
    saved = model_flags.saved_config(preset)
    settings = read_flags(
      LintSettings,
      saved.get("decoder"),
      window_options=read_flags(WindowOptions, saved.get("window")),
      vocab_file=vocab_file,
      do_lower_case=saved.get("do_lower_case") if preset else lower_case,
    )
  from bert_span.jobs import lint_squad

  return int(not lint_squad.lint(argv[1], read_flags(LintOptions), settings))


if __name__ == "__main__":
  run()
