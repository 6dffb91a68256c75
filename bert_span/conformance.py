r"""Compares this package with the original run_squad.

  python -m bert_span.conformance --goldens=DIR [--data=DIR] [--points=1,6]

Compares tokens, windows, model, optimizer, decoding and metrics with saved
outputs of the original, prints a conformance report, and exits with status 1 if
a check fails. All checks take some four minutes on two cores.
"""

from absl import flags

from bert_span.cli import program
from bert_span.cli.tensorflow_import import import_tensorflow

_GOLDENS = flags.DEFINE_string(
  "goldens", None, "Folder with the original's saved outputs."
)
_DATA = flags.DEFINE_string(
  "data",
  None,
  "Folder with the SQuAD files of these outputs; by default the folder data "
  "beside --goldens.",
)
_POINTS = flags.DEFINE_list(
  "points", None, "Numbers of the checks to run; by default all."
)
_OUTPUT_FILE = flags.DEFINE_string(
  "output_file", None, "File to which the report is also written."
)


def main(argv):
  """Runs the checks; returns the exit status."""
  program.require(_GOLDENS)
  import_tensorflow()
  from bert_span.jobs import conformance_report

  all_pass = conformance_report.write_conformance_report(
    _GOLDENS.value, _DATA.value, _POINTS.value, _OUTPUT_FILE.value
  )
  return int(not all_pass)


run = program.entry_point(main)

if __name__ == "__main__":
  run()
