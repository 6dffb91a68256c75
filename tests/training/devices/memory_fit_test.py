"""The largest batch, and what makes a step fit."""

import dataclasses

import pytest

from bert_span.training.devices.memory_estimate import (
  ModelSizes,
  StepOptions,
  estimate_memory,
)
from bert_span.training.devices.memory_fit import largest_batch, ways_to_fit

_SIZES = ModelSizes(
  num_layers=12,
  hidden_dim=64,
  num_heads=4,
  intermediate_dim=256,
  vocabulary_size=1000,
  num_parameters=100_000,
)
_STEP = StepOptions(batch_size=32, seq_length=128)


def total(step):
  return estimate_memory(_SIZES, step, 1000).total


def with_batch(step, batch_size):
  return dataclasses.replace(step, batch_size=batch_size)


@pytest.mark.parametrize("windows", [1, 2, 31, 1000])
def test_the_largest_batch_just_fits(windows):
  memory = total(with_batch(_STEP, windows))
  assert largest_batch(_SIZES, _STEP, memory, 1000) == windows
  assert largest_batch(_SIZES, _STEP, memory - 1, 1000) == windows - 1


def test_the_largest_batch_counts_all_parts_of_an_accumulated_one():
  step = dataclasses.replace(_STEP, accumulate_steps=4)
  memory = total(with_batch(step, 4 * 5))
  assert largest_batch(_SIZES, step, memory, 1000) == 20


def test_a_step_that_nearly_fits_is_accumulated_or_recomputed():
  memory = total(with_batch(_STEP, 20))
  accumulated, recomputed = ways_to_fit(_SIZES, _STEP, memory, 1000)
  assert (accumulated.accumulate_steps, accumulated.recompute) == (2, False)
  assert (recomputed.accumulate_steps, recomputed.recompute) == (1, True)
  assert max(map(total, (accumulated, recomputed))) <= memory


def test_no_more_parts_are_made_than_needed():
  several = dataclasses.replace(_STEP, accumulate_steps=2)
  memory = total(with_batch(several, 2 * 7))
  accumulated = ways_to_fit(_SIZES, _STEP, memory, 1000)[0]
  assert accumulated.accumulate_steps == 5  # parts of 7, 7, 7, 7 and 4
  four = dataclasses.replace(_STEP, accumulate_steps=4)
  assert total(accumulated) <= memory < total(four)


def test_both_are_needed_where_neither_is_enough():
  one = with_batch(_STEP, 1)
  both = dataclasses.replace(_STEP, accumulate_steps=32, recompute=True)
  memory = total(both)
  assert memory < min(total(one), total(with_batch(both, 64)))
  (way,) = ways_to_fit(_SIZES, _STEP, memory, 1000)
  assert (way.accumulate_steps, way.recompute) == (32, True)


def test_nothing_helps_where_the_model_alone_is_too_large():
  assert ways_to_fit(_SIZES, _STEP, 1_000_000, 1000) == []
  assert largest_batch(_SIZES, _STEP, 1_000_000, 1000) == 0
