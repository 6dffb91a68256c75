"""How cases are counted, by hand, and the conformance report as text."""

import math
import re

import numpy as np

from tests.conformance import checks
from tests.conformance.checks import Check, format_report, passes
from tests.conformance.comparison import Comparison
from tests.support.programs import parse_flags

_GOOD = Comparison("apples", 1e-5, 0, 1234, 1234, 2e-6, ["One apple is green."])
_BAD = Comparison("pears", cases=3, equal=2, failures=["the third"])


def test_all_of_some_cases_must_be_equal_or_explained():
  comparison = Comparison("things")
  assert not comparison.passes
  comparison.add(True, "a")
  assert comparison.passes
  comparison.add_explained()
  assert not comparison.passes
  comparison.max_unequal = 1  # Only so many may be explained.
  assert comparison.passes
  comparison.add(False, "b")
  assert (comparison.cases, comparison.equal) == (3, 1)
  assert comparison.failures == ["b"]
  assert not comparison.passes


def test_numbers_are_equal_within_the_limit_and_a_nan_is_not():
  comparison = Comparison("numbers", limit=0.1)
  comparison.add_numbers([1.0, 2.0], [1.05, 2.0], "near")
  comparison.add_numbers(np.array(1.0), 1.5, "far")
  assert (comparison.cases, comparison.equal) == (2, 1)
  assert comparison.largest_difference == 0.5
  assert comparison.failures == ["far: differs by 0.5"]
  comparison = Comparison("numbers", limit=1.0)
  comparison.add_numbers([math.nan], [0.0], "nan")
  comparison.add_numbers([0.0], [0.0, 0.0], "shape")
  comparison.add_numbers([math.inf], [math.inf], "infinite")
  assert (comparison.cases, comparison.equal) == (3, 1)
  assert math.isnan(comparison.largest_difference)


def test_the_report_has_figures_results_notes_and_failures():
  assert passes([_GOOD])
  assert not passes([_GOOD, _BAD])
  assert not passes([])
  fruit, more = Check(1, "Fruit", None), Check(2, "More", None)
  results = [(fruit, [_GOOD]), (more, [_BAD])]
  text = format_report(["Ours: 1", "Theirs: 2"], results)
  assert text.startswith("Ours: 1\nTheirs: 2\n")
  assert re.search(r"1 +Fruit +passes", text)
  assert re.search(r"apples +1,234 +1,234 +2\.0e-06 +1e-05 +passes", text)
  assert re.search(r"2 +More +FAILS", text)
  assert "Check 1\n  One apple is green.\n" in text
  assert "Check 2\n  FAILS pears: the third\n" in text


def test_every_difference_has_a_flag_and_is_in_the_docs(repository):
  run_squad_flags = parse_flags("bert_span.run_squad")
  page = repository / "docs" / "coming_from_run_squad.md"
  text = page.read_text(encoding="utf-8").replace("`", "")
  for difference in checks.DIFFERENCES:
    assert re.match(r"--(\w+)", difference[2]).group(1) in run_squad_flags
    assert f"| {' | '.join(difference)} |" in text
