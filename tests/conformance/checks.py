"""The checks of the conformance report, and the report as text."""

import os
import pathlib
import platform
import shutil
import subprocess
import time
from collections.abc import Callable
from typing import NamedTuple

import bert_span
from bert_span.presets.provenance import package_versions
from bert_span.reporting.score_table import text_table
from bert_span.storage.files import read_json
from bert_span.storage.log import log_line
from tests.conformance import golden_files
from tests.conformance.decoding_checks import (
  compare_decoding,
  compare_null_odds,
)
from tests.conformance.model_checks import (
  compare_fine_tuning,
  compare_model,
  compare_optimizer,
)
from tests.conformance.text_checks import (
  compare_scores,
  compare_tokens,
  compare_windows,
)


class Check(NamedTuple):
  number: int
  title: str
  compare: Callable  # yields the `Comparison`s of `GoldenFiles`
  # Key of the configurations file without which there is nothing to compare.
  part: str | None = None


def compare_edge_cases(goldens):
  """Windows, answers and odds of the passages written to be difficult."""
  for compare in (compare_windows, compare_decoding, compare_null_odds):
    yield from compare(goldens, goldens.edge_cases)


CHECKS = (
  Check(1, "Tokenization", compare_tokens),
  Check(2, "Windows and labels", lambda g: compare_windows(g, g.ordinary)),
  Check(3, "Model function, loss, training", compare_model),
  Check(4, "Optimizer", compare_optimizer),
  Check(5, "Decoding", lambda g: compare_decoding(g, g.ordinary)),
  Check(6, "Metrics", compare_scores),
  Check(7, "Null odds", lambda g: compare_null_odds(g, g.ordinary)),
  Check(8, "Edge cases", compare_edge_cases),
  Check(9, "A fine-tuning run", compare_fine_tuning, "fine_tuning"),
)
# Rows of what the original does, what is done here, the flag that changes it.
DIFFERENCES = read_json(pathlib.Path(__file__).with_name("differences.json"))


def run_checks(options):
  """Prints the report of `ConformanceOptions`; returns whether all pass."""
  return print_report(options.goldens, options.data, options.checks or None)


def print_report(goldens=None, data=None, numbers=None):
  """Prints the report on the checks; returns whether all pass."""
  by_number = {str(check.number): check for check in CHECKS}
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
      f"`checks` must name some of {', '.join(by_number)}. Received: "
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
  sources = [f"This package: {named}", files.source]
  print(format_report(sources, results), end="")
  return all(passes(comparisons) for _, comparisons in results)


def _commit():
  """The commit of the checkout that the package is in, if it is in one."""
  checkout = pathlib.Path(bert_span.__file__).resolve().parent.parent
  command = ["git", "-C", checkout, "rev-parse", "--short=12", "HEAD"]
  if not (checkout / ".git").exists() or not shutil.which("git"):
    return ""
  found = subprocess.run(command, text=True, capture_output=True)
  return f" (commit {found.stdout.strip()})" if found.stdout else ""


def passes(comparisons):
  return bool(comparisons) and all(c.passes for c in comparisons)


def format_report(sources, results):
  """The report of (`Check`, list of `Comparison`) on sources, sentences."""
  rows = [("", "cases", "equal", "largest difference", "limit", "result")]
  remarks = []
  for check, comparisons in results:
    title = f"{check.number}  {check.title}"
    rows.append((title, "", "", "", "", _result(passes(comparisons))))
    rows += [_row(comparison) for comparison in comparisons]
    found = [f"FAILS {c.name}: {x}" for c in comparisons for x in c.failures]
    found += [note for c in comparisons for note in c.notes]
    if found:
      remarks += ["", f"Check {check.number}", *(f"  {x}" for x in found)]
  lines = [*sources, "", text_table(rows), *remarks, ""]
  lines.append("Deliberate differences from the original, and their flags")
  lines += [f"  {theirs}: here {ours}; {f}" for theirs, ours, f in DIFFERENCES]
  return "\n".join(lines) + "\n"


def _row(c):
  difference = limit = ""
  if c.limit is not None:
    difference, limit = f"{c.largest_difference:.1e}", f"{c.limit:g}"
  elif c.max_unequal:
    limit = f"{c.max_unequal:,} may differ"
  counts = f"{c.cases:,}", f"{c.equal:,}"
  return (f"     {c.name}", *counts, difference, limit, _result(c.passes))


def _result(is_passed):
  return "passes" if is_passed else "FAILS"
