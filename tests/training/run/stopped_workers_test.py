"""Workers that train together, of which one is told to end or killed."""

import signal
import time

import numpy as np
import pytest
from squad_runs import squad_flags
from toy_trainer import checkpoint_tensors
from workers import finish, start_workers

from bert_span.training.run.preemption import EXIT_CODE

_FLAGS = ("--do_train", "--save_checkpoints_steps=3", "--learning_rate=2e-3")


def _start(squad_folder, output_dir):
  flags = squad_flags(squad_folder, output_dir, *_FLAGS)
  return start_workers(["-m", "bert_span.run_squad"], flags)


def _finished(squad_folder, output_dir):
  """Standard errors of both workers, which ended well."""
  done = finish(_start(squad_folder, output_dir))
  for status, _, errors in done:
    assert status == 0, errors[-3000:]
  return [errors for _, _, errors in done]


def _signalled(squad_folder, output_dir, sent, is_time):
  """Sends the second worker a signal when it is time; (status, _, errors)."""
  processes = _start(squad_folder, output_dir)
  deadline = time.monotonic() + 900
  while not is_time():
    running = all(process.poll() is None for process in processes)
    if not running or time.monotonic() > deadline:
      pytest.fail(str([errors[-2000:] for _, _, errors in finish(processes)]))
    time.sleep(0.02)
  processes[1].send_signal(sent)
  return finish(processes)


@pytest.mark.large
def test_workers_end_together_and_go_on_together(squad_folder, tmp_path):
  """SIGTERM to one stops both; SIGKILL of one fails both; nothing is lost."""
  whole, stopped = tmp_path / "whole", tmp_path / "stopped"
  _finished(squad_folder, whole)

  # Written before the first step is traced, which takes longer than a signal.
  ended = _signalled(
    squad_folder,
    stopped,
    signal.SIGTERM,
    lambda: list((stopped / "train").glob("events*")),
  )
  assert [status for status, _, _ in ended] == [EXIT_CODE] * 2, ended
  assert all("SIGTERM received" in errors for _, _, errors in ended)
  saved = set(stopped.glob("*.index"))
  assert saved and not (stopped / "model").exists()

  killed = _signalled(
    squad_folder,
    stopped,
    signal.SIGKILL,
    lambda: set(stopped.glob("*.index")) - saved,
  )
  assert killed[1][0] == -signal.SIGKILL
  assert killed[0][0] not in (0, EXIT_CODE)
  assert not (stopped / "model").exists()

  assert all("Continuing from" in e for e in _finished(squad_folder, stopped))
  expected, found = checkpoint_tensors(whole), checkpoint_tensors(stopped)
  assert set(found) == set(expected)
  for name, value in expected.items():
    np.testing.assert_array_equal(found[name], value, err_msg=name)
