"""How cases are counted, by hand."""

import math

import numpy as np

from bert_span.certificate.check import Tally


def test_a_check_holds_when_every_case_is_equal():
  tally = Tally("things")
  assert not tally.check().holds  # Nothing was compared.
  tally.add(True, "a")
  assert tally.check().holds
  tally.add(False, "b")
  check = tally.check()
  assert (check.cases, check.equal, check.failures) == (2, 1, ("b",))
  assert not check.holds


def test_explained_cases_may_differ_up_to_a_number():
  tally = Tally("texts")
  tally.add(True, "a")
  tally.add_explained()
  assert not tally.check().holds
  assert tally.check(max_unequal=1).holds


def test_a_failure_is_none_of_the_cases_that_may_differ():
  tally = Tally("texts")
  tally.add(False, "a")
  assert not tally.check(max_unequal=1).holds


def test_numbers_are_equal_within_the_limit():
  tally = Tally("numbers", limit=0.1)
  tally.add_numbers([1.0, 2.0], [1.05, 2.0], "near")
  tally.add_numbers(np.array(1.0), 1.5, "far")
  check = tally.check()
  assert (check.cases, check.equal) == (2, 1)
  assert check.largest_difference == 0.5
  assert check.failures == ("far: differs by 0.5",)


def test_a_nan_and_another_shape_are_not_equal():
  tally = Tally("numbers", limit=1.0)
  tally.add_numbers([math.nan], [0.0], "nan")
  tally.add_numbers([0.0], [0.0, 0.0], "shape")
  tally.add_numbers([math.inf], [math.inf], "infinite")
  check = tally.check()
  assert (check.cases, check.equal) == (3, 1)
  assert math.isnan(check.largest_difference)
