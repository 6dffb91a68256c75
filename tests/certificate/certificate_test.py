"""The certificate as text."""

import re

import pytest

from bert_span.certificate.certificate import (
  DIFFERENCES,
  Point,
  format_certificate,
  point_holds,
  points,
)
from bert_span.certificate.check import Check

_GOOD = Check("apples", 1234, 1234, 2e-6, 1e-5, notes=("One apple is green.",))
_BAD = Check("pears", 3, 2, failures=("the third",))


def test_points_are_numbered_in_order():
  assert [point.number for point in points()] == list(range(1, 9))


def test_a_point_falls_with_one_check_or_without_any():
  assert point_holds([_GOOD])
  assert not point_holds([_GOOD, _BAD])
  assert not point_holds([])


def test_the_table_tells_figures_verdicts_notes_and_failures():
  text = format_certificate(
    [
      (Point(1, "Fruit", None), [_GOOD]),
      (Point(2, "More fruit", None), [_BAD]),
    ]
  )
  assert re.search(r"1 +Fruit +holds", text)
  assert re.search(r"apples +1,234 +1,234 +2\.0e-06 +1e-05 +holds", text)
  assert re.search(r"2 +More fruit +FALLS", text)
  assert "Point 1\n  One apple is green.\n" in text
  assert "Point 2\n  FALLS pears: the third\n" in text


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda d: d.flag)
def test_every_difference_names_a_flag_that_is_there(difference):
  from absl import flags

  import bert_span.run_squad  # noqa: F401 -- defines the flags

  name = re.match(r"--(\w+)", difference.flag).group(1)
  assert name in flags.FLAGS
