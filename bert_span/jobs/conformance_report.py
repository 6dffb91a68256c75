"""What conformance does: compares this package with the original's outputs."""

import os
import time

from bert_span.certificate import checks
from bert_span.certificate.golden_files import GoldenFiles
from bert_span.storage.atomic_file import write_text_atomically
from bert_span.storage.log import log_line


def write_conformance_report(
  goldens, data=None, numbers=None, output_file=None
):
  """Runs the checks and prints the conformance report.

  Args:
    goldens: folder with the original's saved outputs.
    data: folder with the SQuAD files they were made from; None is the folder
      data beside `goldens`.
    numbers: list of str, the numbers of the checks to run; None runs all.
    output_file: path that gets the report as well, or None.

  Returns:
    Whether all checks pass.

  Raises:
    ValueError: there is no such check.
    FileNotFoundError: an output or a SQuAD file is missing.
  """
  by_number = {str(check.number): check for check in checks.CHECKS}
  if numbers is None:
    numbers = list(by_number)
  if not numbers or not by_number.keys() >= set(numbers):
    raise ValueError(
      f"--points must name some of {', '.join(by_number)}. Received: "
      f"{','.join(numbers)!r}"
    )
  folder = os.path.abspath(goldens)
  data = data or os.path.join(os.path.dirname(folder), "data")
  files = GoldenFiles(folder, data)
  results = []
  for number in numbers:
    check = by_number[number]
    start = time.monotonic()
    results.append((check, list(check.compare(files))))
    seconds = time.monotonic() - start
    log_line(f"Check {number}, {check.title}: {seconds:.0f} s")
  text = checks.format_report(results)
  print(text, end="")
  if output_file:
    write_text_atomically(output_file, text)
  return all(checks.passes(comparisons) for _, comparisons in results)
