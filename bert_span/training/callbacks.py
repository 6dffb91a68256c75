"""Callbacks between the steps of a training; one of them handles SIGTERM."""

import contextlib
import signal
import types

from bert_span.storage.log import log_line

# As tf.distribute's PreemptionCheckpointHandler. A supervisor needs one rule:
# "run the same command again".
EXIT_CODE = 42


class Callback(contextlib.AbstractContextManager):
  """An object that the training loop calls between two steps.

  The loop enters it when the run is restored. After every step the loop calls
  `on_step` if `is_due`, then `stop_reason`; if there is a reason, it saves and
  stops. After a restart, callbacks due at the restored step run again. They may
  depend only on `state` and `step`.
  """

  name = ""  # the name of the state in checkpoints, unique within a run
  state = None  # tf.train.experimental.PythonState for checkpoints, or None
  # JSON values that must not change within a run.
  fingerprint = types.MappingProxyType({})

  def __exit__(self, *unused_exception):
    return None

  def is_due(self, step):
    """Returns whether to call `on_step` at a step, now or later."""
    return False

  def on_step(self, step):
    """Acts after a step; all losses so far are finite."""

  def stop_reason(self):
    """Returns a reason to stop after this step, or None; all workers ask."""


class Preempted(SystemExit):
  """Ends the program with `EXIT_CODE`: the run is saved and can continue."""

  def __init__(self):
    super().__init__(EXIT_CODE)


class EvaluationInterrupted(Exception):
  """Raised in an evaluation that is stopped; the continued run repeats it."""


class TerminationRequest(Callback):
  """Turns SIGTERM into a saved checkpoint and `Preempted`.

  Spot machines, Kubernetes and Slurm send the signal some seconds before they
  take a machine away. `is_any`, a `worker_vote`, stops all workers at once.
  """

  def __init__(self, is_any=bool):
    self._is_any = is_any
    self._is_received = False
    self._previous = None

  def __enter__(self):
    self._previous = signal.signal(signal.SIGTERM, self._note)
    return self

  def __exit__(self, exception_type, *unused_exception):
    signal.signal(signal.SIGTERM, self._previous)
    if not exception_type and self._is_received:
      log_line(f"Ending with status {EXIT_CODE}: the same command continues.")
      raise Preempted

  def _note(self, *unused_arguments):
    self._is_received = True

  def stop_reason(self):
    if not self._is_any(self._is_received):
      return None
    self._is_received = True  # Perhaps only another worker received it.
    return "SIGTERM received"

  def interruptible(self, items):
    """Yields items; raises `EvaluationInterrupted` after the signal."""
    for item in items:
      if self._is_received:
        raise EvaluationInterrupted
      yield item
