r"""Compares this package with the original run_squad.

  python -m tests.conformance [--goldens=DIR [--data=DIR]] [--checks=1,6]

Compares tokens, windows, model, optimizer, decoding, metrics and a fine-tuning
run with saved outputs of the original, prints a conformance report, and exits
with status 1 if a check fails. The outputs in tests/conformance/goldens take
about a minute on two cores; tests/original says how to record others.
"""

from absl import flags

from bert_span.cli import program

_GOLDENS = flags.DEFINE_string(
  "goldens",
  None,
  "Folder with outputs of the original; by default tests/conformance/goldens.",
)
_DATA = flags.DEFINE_string(
  "data",
  None,
  "Folder with their SQuAD files; by default data beside --goldens.",
)
_CHECKS = flags.DEFINE_list(
  "checks",
  None,
  "Numbers of the checks to run; by default all that there are outputs for.",
)


@program.entry_point
def run(argv):
  if not _GOLDENS.value:
    program.forbid([_DATA], "needs --goldens")
  program.import_tensorflow()
  from tests.conformance import checks

  passes = checks.print_report(_GOLDENS.value, _DATA.value, _CHECKS.value)
  return int(not passes)


if __name__ == "__main__":
  run()
