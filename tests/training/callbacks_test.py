"""SIGTERM between the steps of a training, and within an evaluation."""

import os
import signal
import time

import pytest

from bert_span.training.callbacks import (
  EXIT_CODE,
  EvaluationInterrupted,
  Preempted,
  TerminationRequest,
)
from tests.support.training import dataset_fn, make_batch, make_trainer


def test_a_signal_ends_the_step_saves_and_says_so(tmp_path, capsys):
  def make(step):
    if step == 4:
      os.kill(os.getpid(), signal.SIGTERM)
    return make_batch(step)

  before = signal.getsignal(signal.SIGTERM)
  trainer = make_trainer(tmp_path, callbacks=[TerminationRequest()])
  with pytest.raises(Preempted) as error:
    trainer.train(lambda first: dataset_fn(first, make=make))
  # The batches are made ahead: the signal may come some steps earlier.
  assert 1 <= trainer.step <= 5
  saved, stopped, ending = capsys.readouterr().err.splitlines()[-3:]
  assert saved.endswith(f"{tmp_path}/model.ckpt-{trainer.step}")
  assert f" {trainer.step}: SIGTERM" in stopped
  assert f" {EXIT_CODE}: " in ending
  assert signal.getsignal(signal.SIGTERM) is before
  assert error.value.code == EXIT_CODE == 42


def test_a_long_evaluation_is_given_up_at_once():
  termination = TerminationRequest()
  seen = []
  with pytest.raises(EvaluationInterrupted), termination:
    for item in termination.interruptible(range(10)):
      seen.append(item)
      if item == 2:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.01)  # Python runs the handler between two lines.
  assert seen == [0, 1, 2]


def test_a_signal_to_another_worker_ends_this_one_too():
  votes = iter([False, True])
  asked = []

  def is_any(is_received):
    asked.append(is_received)
    return next(votes)

  with pytest.raises(Preempted), TerminationRequest(is_any) as termination:
    assert termination.stop_reason() is None
    assert "SIGTERM" in termination.stop_reason()
  assert asked == [False, False]


def test_a_run_without_a_signal_ends_as_it_would():
  with TerminationRequest() as termination:
    assert list(termination.interruptible([1, 2])) == [1, 2]
    assert termination.stop_reason() is None
