import sys

from bert_span.training.run.progress import TrainingProgress


class Clock:
  def __init__(self):
    self.seconds = 100.0

  def __call__(self):
    return self.seconds


def test_a_log_file_gets_a_line_a_minute_and_one_at_the_end():
  clock, lines = Clock(), []
  progress = TrainingProgress(
    0, 300, log=lines.append, is_terminal=False, clock=clock
  )
  for step in range(1, 301):
    clock.seconds += 1
    progress.update(step, 8 * step, loss=2.0, learning_rate=1e-4)
  # After 10 s, then every 60 s of 300, then the last step.
  steps = [line.split(" of ")[0] for line in lines]
  assert steps == [f"Step {s}" for s in (10, 70, 130, 190, 250, 300)]
  assert not any("\r" in line for line in lines)


def test_a_line_tells_loss_rate_speed_and_time_left():
  clock, lines = Clock(), []
  progress = TrainingProgress(
    40, 100, log=lines.append, is_terminal=False, clock=clock
  )
  clock.seconds += 30  # Tracing: no part of the speed.
  progress.update(41, 8, loss=6.0, learning_rate=1e-5)
  clock.seconds += 60
  # 10 steps and 80 windows in 60 s: 49 more steps take 294 s.
  progress.update(51, 88, loss=2.5, learning_rate=4.5e-5)
  assert lines == [
    "Step 41 of 100 (41 %): loss 6.0000, learning rate 1e-05",
    "Step 51 of 100 (51 %): loss 2.5000, learning rate 4.5e-05, "
    "1.3 examples/s, 04:54 left",
  ]


def test_a_terminal_gets_a_bar_that_starts_where_the_run_was(capsys):
  clock = Clock()
  progress = TrainingProgress(40, 100, is_terminal=True, clock=clock)
  progress.update(41, 8, loss=6.0, learning_rate=1e-5)
  clock.seconds += 60
  progress.update(51, 88, loss=2.5, learning_rate=4.5e-5)
  progress.close()
  shown = capsys.readouterr().err
  first, last = shown.split("\r")[1], shown.split("\r")[-1]
  assert "40/100" in first
  assert "51/100" in last and "51%" in last
  assert "loss 2.5000" in last and "1.3 examples/s" in last


def test_without_a_terminal_no_bar_is_drawn(capsys, monkeypatch):
  monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
  progress = TrainingProgress(0, 10)
  progress.update(5, 8, loss=6.0, learning_rate=1e-5)
  assert capsys.readouterr().err == ""
