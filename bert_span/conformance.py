r"""Compares this package with the original run_squad.

  python -m bert_span.conformance [--goldens=DIR [--data=DIR]] [--points=1,6]

Compares tokens, windows, model, optimizer, decoding, metrics and a fine-tuning
run with saved outputs of the original, prints a conformance report, and exits
with status 1 if a check fails. The outputs that come with the package take
about a minute on two cores; tests/original says how to record others.
"""

from absl import flags

from bert_span.cli import program
from bert_span.cli.tensorflow_import import import_tensorflow

_GOLDENS = flags.DEFINE_string(
  "goldens",
  None,
  "Folder with saved outputs of the original; by default those that come with "
  "the package.",
)
_DATA = flags.DEFINE_string(
  "data",
  None,
  "Folder with the SQuAD files of these outputs; by default the folder data "
  "beside --goldens.",
)
_POINTS = flags.DEFINE_list(
  "points",
  None,
  "Numbers of the checks to run; by default all that there are outputs for.",
)
_OUTPUT_FILE = flags.DEFINE_string(
  "output_file", None, "File to which the report is also written."
)


def main(argv):
  """Runs the checks; returns the exit status."""
  program.check(
    _GOLDENS.value or not _DATA.value,
    "--data needs --goldens: the package's own outputs have their data.",
  )
  import_tensorflow()
  from bert_span.jobs import conformance_report

  all_pass = conformance_report.write_conformance_report(
    _GOLDENS.value, _DATA.value, _POINTS.value, _OUTPUT_FILE.value
  )
  return int(not all_pass)


run = program.entry_point(main)

if __name__ == "__main__":
  run()
