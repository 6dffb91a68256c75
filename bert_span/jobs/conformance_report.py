"""What conformance does: compares this package with the original's outputs."""

import os
import sys
import time

from bert_span.certificate import certificate
from bert_span.certificate.golden_files import GoldenFiles
from bert_span.storage.atomic_file import write_text_atomically


def certify(goldens, data=None, points=None, output_file=None):
  """Runs the points and prints the certificate.

  Args:
    goldens: folder with the original's saved outputs.
    data: folder with the SQuAD files they were made from; None for the folder
      data beside `goldens`.
    points: list of str, the numbers of the points to check; None for all.
    output_file: path that gets the certificate as well, or None.

  Returns:
    Whether all points hold.

  Raises:
    ValueError: there is no such point, or an output is not there.
  """
  chosen = _chosen(certificate.points(), points)
  folder = os.path.abspath(goldens)
  data = data or os.path.join(os.path.dirname(folder), "data")
  files = GoldenFiles(folder, data)
  results = [(point, _run(point, files)) for point in chosen]
  text = certificate.format_certificate(results)
  print(text, end="")
  if output_file:
    write_text_atomically(output_file, text)
  return all(certificate.point_holds(checks) for _, checks in results)


def _chosen(points, numbers):
  if numbers is None:
    return points
  by_number = {str(point.number): point for point in points}
  if not numbers or not by_number.keys() >= set(numbers):
    raise ValueError(
      f"--points must name some of {', '.join(by_number)}. Received: "
      f"{','.join(numbers)!r}"
    )
  return [by_number[number] for number in numbers]


def _run(point, files):
  start = time.monotonic()
  checks = list(point.run(files))
  print(
    f"Point {point.number}, {point.title}: {time.monotonic() - start:.0f} s",
    file=sys.stderr,
  )
  return checks
