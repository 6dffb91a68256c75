import numpy as np
import pytest
import tensorflow as tf

from bert_span.training.learning_rate import WarmupLinearDecay


def test_rate_rises_through_the_warm_up_and_then_falls():
  schedule = WarmupLinearDecay(1e-3, num_train_steps=40, num_warmup_steps=10)
  rates = [float(schedule(step)) for step in (0, 5, 9, 10, 20, 39, 40, 41)]
  np.testing.assert_allclose(
    rates, [0, 5e-4, 9e-4, 7.5e-4, 5e-4, 2.5e-5, 0, 0], rtol=1e-5
  )


def test_without_warm_up_the_first_step_has_the_peak():
  schedule = WarmupLinearDecay(5e-5, num_train_steps=100)
  assert float(schedule(0)) == np.float32(5e-5)
  assert float(schedule(100)) == 0.0


def test_every_rate_of_the_original_is_given_to_the_last_bit(
  goldens, read_json
):
  tables = read_json(goldens / "learning_rate_tables.json")["tables"]
  assert len(tables) == 6
  for key, expected in tables.items():
    peak, steps, warmup = key.split("/")
    schedule = WarmupLinearDecay(float(peak), int(steps), int(warmup))
    compiled = tf.function(schedule)
    rates = tf.stack([compiled(tf.constant(i)) for i in range(len(expected))])
    np.testing.assert_array_equal(
      rates.numpy(), np.asarray(expected, np.float32), err_msg=key
    )


def test_the_configuration_rebuilds_the_schedule():
  schedule = WarmupLinearDecay(1e-3, num_train_steps=40, num_warmup_steps=10)
  copy = WarmupLinearDecay.from_config(schedule.get_config())
  assert float(copy(7)) == float(schedule(7))


@pytest.mark.parametrize(
  ("arguments", "named"),
  [
    ((float("nan"), 10, 1), "learning_rate"),
    ((-1e-3, 10, 1), "learning_rate"),
    ((1e-3, 0, 0), "num_train_steps"),
    ((1e-3, 10, -1), "num_warmup_steps"),
  ],
)
def test_an_impossible_argument_is_named(arguments, named):
  with pytest.raises(ValueError, match=named):
    WarmupLinearDecay(*arguments)
