r"""Certifies that this package computes what the original run_squad computes.

  python -m bert_span.conformance --goldens=DIR [--data=DIR] [--points=1,6]

Compares tokens, windows, model, optimizer, decoding and metrics with saved
outputs of the original, prints a table, and ends with status 1 if a point
falls. All points take some ten minutes on two cores.
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
  "Folder with the SQuAD files they were made from; by default the folder "
  "data beside --goldens.",
)
_POINTS = flags.DEFINE_list(
  "points", None, "Numbers of the points to check; all by default."
)
_OUTPUT_FILE = flags.DEFINE_string(
  "output_file", None, "File that gets the certificate as well."
)


def main(argv):
  """Runs the points; returns the exit status."""
  program.refuse_arguments(argv)
  program.check(
    _GOLDENS.value,
    "--goldens is required: the folder with the original's saved outputs.",
  )
  # Seconds: only once the flags are known to be right.
  import_tensorflow()
  from bert_span.jobs import conformance_report

  holds = conformance_report.certify(
    _GOLDENS.value, _DATA.value, _POINTS.value, _OUTPUT_FILE.value
  )
  return int(not holds)


def run():
  """Entry point of the installed command."""
  program.run_program(main)


if __name__ == "__main__":
  run()
