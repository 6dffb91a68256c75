import math

import pytest

from bert_span.training.run.readings import Readings


class Places:
  """Takes what readings show."""

  def __init__(self):
    self.written = []
    self.shown = []

  def write(self, scalars, step):
    self.written.append((step, scalars))

  def update(self, step, num_examples, loss, learning_rate):
    self.shown.append((step, num_examples, loss, learning_rate))


def numbers(loss, norm=1.0, **more):
  return {"loss": loss, "global_norm": norm, "learning_rate": 0.1, **more}


def test_a_skipped_step_is_counted_and_its_infinities_are_left_out():
  places = Places()
  readings = Readings(0, places, places)
  readings.add(numbers(2.0, loss_scale=8.0, skipped=0.0), 4)
  readings.add(numbers(math.inf, math.nan, loss_scale=8.0, skipped=1.0), 4)
  readings.add(numbers(4.0, loss_scale=4.0, skipped=0.0), 4)
  readings.read(summarizes=True)
  ((step, scalars),) = places.written
  assert (step, scalars["loss"], scalars["loss_scale"]) == (3, 3.0, 4.0)
  assert scalars["skipped_steps"] == 1
  assert places.shown == [(3, 12, 3.0, 0.1)]


def test_the_last_loss_stands_while_all_steps_are_skipped():
  places = Places()
  readings = Readings(0, places, places)
  readings.add(numbers(2.0), 4)
  readings.read(summarizes=True)
  readings.add(numbers(math.inf, math.inf, skipped=1.0), 4)
  readings.read(summarizes=True)
  assert [scalars["loss"] for _, scalars in places.written] == [2.0, 2.0]


def test_an_infinite_norm_that_no_scale_explains_stops_the_run():
  places = Places()
  readings = Readings(0, places, places)
  readings.add(numbers(2.0, math.inf, skipped=0.0), 4)
  with pytest.raises(ValueError, match="global_norm of step 1 is inf"):
    readings.read(summarizes=True)
