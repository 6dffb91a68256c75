r"""Compares this package with the original run_squad.

  python -m tests.conformance [--goldens=DIR [--data=DIR]] [--checks=1,6]

Compares tokens, windows, model, optimizer, decoding, metrics and a fine-tuning
run with saved outputs of the original, prints a conformance report, and exits
with status 1 if a check fails. The outputs in tests/conformance/goldens take
about a minute on two cores; tests/original says how to record others.
"""

import dataclasses

from bert_span.cli.program import program
from bert_span.options.fields import option
from bert_span.storage.options import FileOptions


@dataclasses.dataclass(frozen=True, kw_only=True)
class ConformanceOptions(FileOptions):
  """The options of `tests.conformance.checks.run_checks`."""

  goldens: str | None = option(
    None,
    "Folder with outputs of the original; by default "
    "tests/conformance/goldens.",
  )
  data: str | None = option(
    None,
    "Folder with their SQuAD files; by default data beside `goldens`.",
    needs=("goldens",),
  )
  checks: tuple[str, ...] = option(
    (),
    "Numbers of the checks to run; by default all that there are outputs for.",
  )


run = program(ConformanceOptions, "tests.conformance.checks:run_checks")

if __name__ == "__main__":
  run()
