"""Compares this package with the original's outputs."""

import os
import pathlib
import platform
import shutil
import subprocess
import time

import bert_span
from bert_span.conformance_checks import checks, golden_files
from bert_span.serving.assets_extra import package_versions
from bert_span.storage.atomic_file import write_text_atomically
from bert_span.storage.log import log_line


def write_conformance_report(
  goldens=None, data=None, numbers=None, output_file=None
):
  """Prints the report on the checks; returns whether all pass."""
  by_number = {str(check.number): check for check in checks.CHECKS}
  files = golden_files.sample_goldens()
  if goldens:
    folder = os.path.abspath(goldens)
    data = data or os.path.join(os.path.dirname(folder), "data")
    files = golden_files.GoldenFiles(folder, data)
  if numbers is None:
    recorded = {None, *files.plan}
    numbers = [n for n, c in by_number.items() if c.part in recorded]
  if not numbers or not by_number.keys() >= set(numbers):
    raise ValueError(
      f"--checks must name some of {', '.join(by_number)}. Received: "
      f"{','.join(numbers)!r}"
    )
  results = []
  for check in map(by_number.get, numbers):
    start = time.monotonic()
    results.append((check, list(check.compare(files))))
    seconds = time.monotonic() - start
    log_line(f"Check {check.number}, {check.title}: {seconds:.0f} s")
  versions = package_versions()
  versions["bert_span"] += _commit()
  versions["Python"] = platform.python_version()
  named = ", ".join(f"{name} {version}" for name, version in versions.items())
  text = checks.format_report([f"This package: {named}", files.source], results)
  print(text, end="")
  if output_file:
    write_text_atomically(output_file, text)
  return all(checks.passes(comparisons) for _, comparisons in results)


def _commit():
  """The commit of the checkout that the package is in, if it is in one."""
  checkout = pathlib.Path(bert_span.__file__).resolve().parent.parent
  command = ["git", "-C", checkout, "rev-parse", "--short=12", "HEAD"]
  if not (checkout / ".git").exists() or not shutil.which("git"):
    return ""
  found = subprocess.run(command, text=True, capture_output=True)
  return f" (commit {found.stdout.strip()})" if found.stdout else ""
