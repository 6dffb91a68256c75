"""How cases are counted, by hand."""

import math

import numpy as np

from bert_span.certificate.comparison import Comparison


def test_a_comparison_passes_if_all_of_some_cases_are_equal():
  comparison = Comparison("things")
  assert not comparison.passes
  comparison.add(True, "a")
  assert comparison.passes
  comparison.add(False, "b")
  assert (comparison.cases, comparison.equal) == (2, 1)
  assert comparison.failures == ["b"]
  assert not comparison.passes


def test_only_explained_cases_may_differ_and_only_so_many():
  comparison = Comparison("texts")
  comparison.add(True, "a")
  comparison.add_explained()
  assert not comparison.passes
  comparison.max_unequal = 1
  assert comparison.passes
  comparison = Comparison("texts", max_unequal=1)
  comparison.add(False, "a")
  assert not comparison.passes


def test_numbers_are_equal_within_the_limit():
  comparison = Comparison("numbers", limit=0.1)
  comparison.add_numbers([1.0, 2.0], [1.05, 2.0], "near")
  comparison.add_numbers(np.array(1.0), 1.5, "far")
  assert (comparison.cases, comparison.equal) == (2, 1)
  assert comparison.largest_difference == 0.5
  assert comparison.failures == ["far: differs by 0.5"]


def test_a_nan_and_another_shape_are_not_equal():
  comparison = Comparison("numbers", limit=1.0)
  comparison.add_numbers([math.nan], [0.0], "nan")
  comparison.add_numbers([0.0], [0.0, 0.0], "shape")
  comparison.add_numbers([math.inf], [math.inf], "infinite")
  assert (comparison.cases, comparison.equal) == (3, 1)
  assert math.isnan(comparison.largest_difference)
