r"""Certifies that this package computes what the original run_squad computes.

  python -m bert_span.conformance --goldens=DIR [--data=DIR] [--points=1,6]

Compares tokens, windows, model, optimizer, decoding and metrics with saved
outputs of the original, prints a table, and ends with status 1 if a point
falls. All points take some ten minutes on two cores.
"""

import os
import sys
import time

from absl import flags

from bert_span.cli import program

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
  """Runs the points, prints the certificate, tells whether all hold."""
  program.refuse_arguments(argv)
  program.check(
    _GOLDENS.value,
    "--goldens is required: the folder with the original's saved outputs.",
  )
  # Seconds: only once the flags are known to be right.
  from bert_span.certificate import certificate
  from bert_span.certificate.golden_files import GoldenFiles
  from bert_span.storage.atomic_file import write_text_atomically

  chosen = _chosen(certificate.points())
  folder = os.path.abspath(_GOLDENS.value)
  data_folder = _DATA.value or os.path.join(os.path.dirname(folder), "data")
  goldens = GoldenFiles(folder, data_folder)
  results = [(point, _run(point, goldens)) for point in chosen]
  text = certificate.format_certificate(results)
  print(text, end="")
  if _OUTPUT_FILE.value:
    write_text_atomically(_OUTPUT_FILE.value, text)
  return int(not all(certificate.point_holds(c) for _, c in results))


def run():
  """Entry point of the installed command."""
  program.run_program(main)


def _chosen(points):
  if _POINTS.value is None:
    return points
  by_number = {str(point.number): point for point in points}
  unknown = [number for number in _POINTS.value if number not in by_number]
  program.check(
    _POINTS.value and not unknown,
    f"--points must name some of {', '.join(by_number)}. Received: "
    f"{','.join(_POINTS.value)!r}",
  )
  return [by_number[number] for number in _POINTS.value]


def _run(point, goldens):
  start = time.monotonic()
  checks = list(point.run(goldens))
  print(
    f"Point {point.number}, {point.title}: {time.monotonic() - start:.0f} s",
    file=sys.stderr,
  )
  return checks


if __name__ == "__main__":
  run()
