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

import dataclasses
import os

from bert_span.answers.decoding.options import DecoderOptions
from bert_span.cli.program import program
from bert_span.options.fields import REQUIRED, WORD, changed, option
from bert_span.presets.encoder_source import EncoderSource
from bert_span.storage.options import FileOptions
from bert_span.text.options import WindowOptions


@dataclasses.dataclass(frozen=True, kw_only=True)
class LintSquadOptions(WindowOptions, FileOptions):
  """The options of `bert_span.jobs.lint_squad.lint_squad`."""

  file: str = option(
    REQUIRED,
    "SQuAD file (JSON, Parquet) to check, as in lint_squad FILE "
    "[--preset=MODEL].",
    is_input=True,
    flag=WORD,
  )
  preset: str | None = changed(
    EncoderSource,
    "preset",
    help="Model to train from or to predict with: a model directory, or any "
    "preset of run_squad. Its vocabulary and saved windows are used.",
    conflicts=("vocab_file", "do_lower_case"),
  )
  vocab_file: str | None = changed(EncoderSource, "vocab_file")
  do_lower_case: bool | None = changed(EncoderSource, "do_lower_case")
  max_answer_length: int = changed(DecoderOptions, "max_answer_length")
  json: bool = option(
    False, "Whether to print one JSON object instead of text."
  )
  fix: bool = option(
    False, "Whether to write a repaired copy and a log of each change."
  )
  output_file: str | None = option(
    None,
    "File of the repaired copy; by default FILE with the ending .fixed.json. "
    "The log is beside it, with .changes.jsonl appended to the name.",
    is_output=True,
    writes=(".changes.jsonl",),
    needs=("fix",),
  )
  strict: bool = option(False, "Whether a warning also gives exit status 1.")
  num_places: int = option(
    3,
    "Number of places that the text names for each kind of warning; it names "
    "all places of errors and none of notes.",
    minimum=0,
  )

  def __post_init__(self):
    if self.fix and self.file and not self.output_file:
      copy = f"{os.fspath(self.file).removesuffix('.json')}.fixed.json"
      object.__setattr__(self, "output_file", copy)
    # Windows are checked with those that a model has saved, when it is read.
    super(WindowOptions, self).__post_init__()


run = program(
  LintSquadOptions,
  "bert_span.jobs.lint_squad:lint_squad",
  needs_tensorflow=lambda options: options.preset or options.vocab_file,
)

if __name__ == "__main__":
  run()
