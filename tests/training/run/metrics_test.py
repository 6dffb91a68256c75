import math

import pytest
from distributed_checks import read_events

from bert_span.training.run.metrics import TrainingMetrics


def report(folder, *steps):
  """The curves that are written of some steps, each reported by itself."""
  with TrainingMetrics(0, 9, 4, str(folder), lambda line: None) as metrics:
    for part in steps:
      metrics.add(part)
      metrics.report(writes_event=True)
  return read_events(folder)


def step(loss, norm=1.0, **more):
  return {"loss": loss, "global_norm": norm, "learning_rate": 0.1, **more}


def test_a_skipped_step_is_counted_and_its_infinities_are_ignored(tmp_path):
  curves = report(
    tmp_path,
    [
      step(2.0, loss_scale=8.0, skipped=0.0),
      step(math.inf, math.nan, loss_scale=8.0, skipped=1.0),
      step(4.0, loss_scale=4.0, skipped=0.0),
    ],
  )
  assert curves["loss"] == [3.0]
  assert curves["loss_scale"] == [4.0]
  assert curves["skipped_steps"] == [1.0]


def test_the_last_loss_is_shown_while_all_steps_are_skipped(tmp_path):
  skipped = step(math.inf, math.inf, skipped=1.0)
  assert report(tmp_path, [step(2.0)], [skipped])["loss"] == [2.0, 2.0]


def test_an_infinite_norm_without_a_lower_scale_stops_the_run(tmp_path):
  with pytest.raises(ValueError, match="global_norm of step 1 is inf"):
    report(tmp_path, [step(2.0, math.inf, skipped=0.0)])
