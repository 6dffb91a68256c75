"""Steps of a fine-tuning, and options that are refused."""

import math
import re

import pytest

from bert_span.training.fine_tuning_options import FineTuningOptions


@pytest.mark.parametrize(
  ("num_examples", "batch_size", "epochs", "steps", "warm_up"),
  [
    (87_599, 32, 2.0, 5474, 547),  # SQuAD 1.1: int(5474.9)
    (5, 2, 3.0, 7, 0),  # int(7.5), and int(0.7)
    (10, 1, 1.0, 10, 1),
    (3, 6, 2.0, 1, 0),  # a batch exactly
  ],
)
def test_steps_are_counted_in_examples_and_rounded_down(
  num_examples, batch_size, epochs, steps, warm_up
):
  options = FineTuningOptions(
    train_batch_size=batch_size, num_train_epochs=epochs
  )
  assert options.num_train_steps(num_examples) == steps
  assert options.num_warmup_steps(steps) == warm_up


def test_too_few_examples_are_refused_with_a_batch_size_that_works():
  options = FineTuningOptions(train_batch_size=7, num_train_epochs=2.0)
  with pytest.raises(ValueError, match=r"^3 .*\b7\b") as error:
    options.num_train_steps(3)
  (size,) = re.findall(r"train_batch_size=(\d+)", str(error.value))
  options = FineTuningOptions(train_batch_size=int(size), num_train_epochs=2.0)
  assert options.num_train_steps(3) == 1
  with pytest.raises(ValueError, match="more epochs"):
    FineTuningOptions(num_train_epochs=0.0).num_train_steps(3)


@pytest.mark.parametrize("weights", [(1, 2), (1, 0, 1), (1, 1, math.inf)])
def test_wrong_class_weights_are_refused(weights):
  with pytest.raises(ValueError, match="bio_class_weights") as error:
    FineTuningOptions(bio_class_weights=weights)
  assert repr(weights) in str(error.value)
