r"""Compares this package with the original run_squad.

  python -m bert_span.conformance [--goldens=DIR [--data=DIR]] [--checks=1,6]

Compares tokens, windows, model, optimizer, decoding, metrics and a fine-tuning
run with saved outputs of the original, prints a conformance report, and exits
with status 1 if a check fails. The outputs that come with the package take
about a minute on two cores; tests/original says how to record others.
"""

from absl import flags

from bert_span.cli import program

_GOLDENS = flags.DEFINE_string(
  "goldens",
  None,
  "Folder with outputs of the original; by default those of the package.",
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
_OUTPUT_FILE = flags.DEFINE_string(
  "output_file", None, "File to which the report is also written."
)


@program.entry_point
def run(argv):
  if not _GOLDENS.value:
    program.forbid([_DATA], "needs --goldens")
  program.import_tensorflow()
  from bert_span.jobs import conformance

  passes = conformance.write_conformance_report(
    goldens=_GOLDENS.value,
    data=_DATA.value,
    numbers=_CHECKS.value,
    output_file=_OUTPUT_FILE.value,
  )
  return int(not passes)


if __name__ == "__main__":
  run()
