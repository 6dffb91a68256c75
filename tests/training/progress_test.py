"""Lines, the bar and the curves of a training."""

import math
import re
import sys
import types

import pytest

from bert_span.training.progress import TrainingProgress
from tests.support.training import read_events


@pytest.fixture
def make_progress(tmp_path):
  """A function that makes a `TrainingProgress` and its clock."""

  def make(first_step, last_step):
    clock = types.SimpleNamespace(seconds=100.0)
    arguments = (first_step, last_step, 8, str(tmp_path))
    return TrainingProgress(*arguments, lambda: clock.seconds), clock

  return make


def step(loss, norm=1.0, **more):
  return {"loss": loss, "global_norm": norm, "learning_rate": 0.1, **more}


def test_a_log_file_gets_a_line_a_minute_and_one_at_the_end(
  make_progress, capsys
):
  progress, clock = make_progress(0, 300)
  for _ in range(300):
    clock.seconds += 1
    assert progress.is_due
    progress.add([step(2.0)])
    progress.report(writes_event=False)
  assert not progress.is_due
  # After 10 s, then every 60 s of 300, then the last step.
  log = capsys.readouterr().err
  steps = [line.split()[1] for line in log.splitlines()]
  assert steps == ["10", "70", "130", "190", "250", "300"]
  assert "\r" not in log


def _report_twice(progress, clock):
  clock.seconds += 30  # Tracing: no part of the speed.
  progress.add([step(6.0)])
  progress.report(writes_event=True)
  clock.seconds += 60
  progress.add([step(2.5)] * 10)
  progress.report(writes_event=False)


def test_a_line_has_loss_rate_speed_and_time_left(make_progress, capsys):
  progress, clock = make_progress(40, 100)
  _report_twice(progress, clock)
  # 10 steps and 80 windows in 60 s: 49 more steps take 294 s.
  lines = capsys.readouterr().err.splitlines()
  assert [re.findall(r"[\d.:]*\d", line) for line in lines] == [
    ["41", "100", "41", "6.0000", "0.1"],
    ["51", "100", "51", "2.5000", "0.1", "1.3", "04:54"],
  ]


def test_a_terminal_gets_a_bar_that_starts_where_the_run_was(
  make_progress, capsys, monkeypatch
):
  monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
  progress, clock = make_progress(40, 100)
  with progress:
    _report_twice(progress, clock)
  shown = capsys.readouterr().err
  first, last = shown.split("\r")[1], shown.split("\r")[-1]
  assert "40/100" in first
  assert "51/100" in last and "51%" in last
  assert "loss 2.5000" in last and "1.3 examples/s" in last
  assert "Step" not in shown


def test_a_skipped_step_is_counted_and_its_infinities_are_ignored(
  make_progress, tmp_path
):
  progress, _ = make_progress(0, 9)
  with progress:
    progress.add([step(2.0, loss_scale=8.0, skipped=0.0)])
    progress.add([step(math.inf, math.nan, loss_scale=8.0, skipped=1.0)])
    progress.add([step(4.0, loss_scale=4.0, skipped=0.0)])
    progress.report(writes_event=True)
    # The last loss is shown while all steps are skipped.
    progress.add([step(math.inf, math.inf, loss_scale=2.0, skipped=1.0)])
    progress.report(writes_event=True)
  curves = read_events(tmp_path)
  assert curves["loss"] == [3.0, 3.0]
  assert curves["loss_scale"] == [4.0, 2.0]
  assert curves["skipped_steps"] == [1.0, 2.0]


def test_an_infinite_norm_without_a_lower_scale_stops_the_run(make_progress):
  progress, _ = make_progress(0, 9)
  progress.add([step(2.0, math.inf, skipped=0.0)])
  with pytest.raises(ValueError, match=r"global_norm of step 1.*inf"):
    progress.report(writes_event=True)
