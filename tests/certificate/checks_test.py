"""The conformance report as text."""

import re

from programs import parse_flags

from bert_span.certificate.checks import (
  CHECKS,
  DIFFERENCES,
  Check,
  format_report,
  passes,
)
from bert_span.certificate.comparison import Comparison

_GOOD = Comparison(
  "apples", 1e-5, 0, 1234, 1234, 2e-6, notes=["One apple is green."]
)
_BAD = Comparison("pears", cases=3, equal=2, failures=["the third"])


def test_checks_are_numbered_in_order():
  assert [check.number for check in CHECKS] == list(range(1, 10))


def test_a_check_passes_if_it_has_comparisons_and_all_pass():
  assert passes([_GOOD])
  assert not passes([_GOOD, _BAD])
  assert not passes([])


def test_the_report_has_figures_results_notes_and_failures():
  text = format_report(
    ["Ours: 1", "Theirs: 2"],
    [
      (Check(1, "Fruit", None), [_GOOD]),
      (Check(2, "More fruit", None), [_BAD]),
    ],
  )
  assert text.startswith("Ours: 1\nTheirs: 2\n")
  assert re.search(r"1 +Fruit +passes", text)
  assert re.search(r"apples +1,234 +1,234 +2\.0e-06 +1e-05 +passes", text)
  assert re.search(r"2 +More fruit +FAILS", text)
  assert "Check 1\n  One apple is green.\n" in text
  assert "Check 2\n  FAILS pears: the third\n" in text


def test_every_difference_names_an_existing_flag():
  run_squad_flags = parse_flags("bert_span.run_squad")
  for _, _, flag in DIFFERENCES:
    assert re.match(r"--(\w+)", flag).group(1) in run_squad_flags


def test_the_docs_list_every_difference(repository):
  text = (repository / "docs" / "conformance.md").read_text(encoding="utf-8")
  for original, here, _ in DIFFERENCES:
    assert f"| {original} | {here} |" in text
