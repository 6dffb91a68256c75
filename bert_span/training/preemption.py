"""Stops a training between two steps when its machine is taken away."""

import signal

from bert_span.storage.log import log_line
from bert_span.training.callbacks import Callback

# That of tf.distribute's PreemptionCheckpointHandler, so that a supervisor
# needs one rule only: "run the same command again".
EXIT_CODE = 42


class Preempted(SystemExit):
  """Ends the program with `EXIT_CODE`: the run is saved and can continue."""

  def __init__(self):
    super().__init__(EXIT_CODE)


class EvaluationInterrupted(Exception):
  """An evaluation was stopped; it is made when the run continues."""


class TerminationRequest(Callback):
  """Turns SIGTERM into a saved checkpoint and an exit code.

  Spot machines, Kubernetes and Slurm send SIGTERM some seconds before they
  take a machine away. While the training runs, the current step is finished
  and saved, and the loop returns; otherwise the signal ends the program at
  once. A signal to one worker stops all workers at the same step.

  Example:
    termination = TerminationRequest()
    Trainer(..., callbacks=[termination]).train(dataset_fn)
    termination.exit_if_received()

  Signals are Python's, so the training must run in the main thread.

  Args:
    is_any: `WorkerVote`; bool where one process trains.
  """

  def __init__(self, is_any=bool):
    self.stop_reason = None
    self._is_any = is_any
    self._is_received = False
    self._previous = None

  def __enter__(self):
    self._previous = signal.signal(signal.SIGTERM, self._note)
    return self

  def __exit__(self, *unused_exception):
    signal.signal(signal.SIGTERM, self._previous)

  def _note(self, *unused_arguments):
    self._is_received = True

  def agree(self):
    """See `Callback`."""
    if not self.stop_reason and self._is_any(self._is_received):
      self.stop_reason = "SIGTERM received"

  def interruptible(self, items):
    """Yields items until the signal comes, for long evaluations.

    Raises:
      EvaluationInterrupted: the signal has come.
    """
    for item in items:
      if self._is_received:
        raise EvaluationInterrupted
      yield item

  def exit_if_received(self, log=log_line):
    """Raises `Preempted` if the signal has come."""
    if self.stop_reason or self._is_received:
      log(
        f"Ending with status {EXIT_CODE}: the same command continues the run."
      )
      raise Preempted
