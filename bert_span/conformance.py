r"""Checks that this package computes what the original run_squad computes.

  python -m bert_span.conformance --goldens=DIR [--data=DIR] [--points=1,6]

Compares tokens, windows, model, optimizer, decoding and metrics with saved
outputs of the original and prints the conformance report. The exit status is 1
if a check fails. All checks take some ten minutes on two cores.
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

  holds = conformance_report.certify(
    _GOLDENS.value, _DATA.value, _POINTS.value, _OUTPUT_FILE.value
  )
  return int(not holds)


run = program.entry_point(main)

if __name__ == "__main__":
  run()
