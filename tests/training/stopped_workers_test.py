"""Workers that train together; one gets SIGTERM or SIGKILL."""

import signal

import pytest
from squad_runs import squad_flags
from toy_trainer import assert_same_checkpoint
from workers import finish, start_workers

from bert_span.training.callbacks import EXIT_CODE

_FLAGS = (
  *("--do_train", "--num_train_epochs=8", "--save_checkpoints_steps=3"),
  "--learning_rate=2e-3",
)


@pytest.mark.large
def test_workers_end_together_and_go_on_together(squad_folder, tmp_path):
  """SIGTERM to one stops both; SIGKILL of one fails both; nothing is lost."""
  whole, stopped = tmp_path / "whole", tmp_path / "stopped"

  def start(output_dir):
    flags = squad_flags(squad_folder, output_dir, *_FLAGS)
    return start_workers("bert_span.run_squad", *flags)

  def train(output_dir):
    done = finish(start(output_dir))
    for run in done:
      assert run.returncode == 0, run.stderr[-3000:]
    return done

  def stop_second(sent, is_time):
    programs = start(stopped)
    programs[1].send_signal_when(is_time, sent)
    return finish(programs)

  train(whole)
  # Written before the first step is traced, which takes longer than a signal.
  ended = stop_second(
    signal.SIGTERM, lambda: list((stopped / "train").glob("events*"))
  )
  assert [run.returncode for run in ended] == [EXIT_CODE] * 2, ended
  assert all("SIGTERM received" in run.stderr for run in ended)
  saved = set(stopped.glob("*.index"))
  assert saved and not (stopped / "model").exists()

  killed = stop_second(
    signal.SIGKILL, lambda: set(stopped.glob("*.index")) - saved
  )
  assert killed[1].returncode == -signal.SIGKILL
  assert killed[0].returncode not in (0, EXIT_CODE)
  assert not (stopped / "model").exists()

  assert all("Continuing from" in run.stderr for run in train(stopped))
  assert_same_checkpoint(stopped, whole)
