"""What a training does between its steps, and how SIGTERM stops it there."""

import contextlib
import signal
import types

from bert_span.storage.log import log_line

# That of tf.distribute's PreemptionCheckpointHandler; a supervisor needs one
# rule: "run the same command again".
EXIT_CODE = 42


class Callback(contextlib.AbstractContextManager):
  """Something that the training loop calls between two steps.

  The loop enters it when the run is restored. After every step it calls
  `on_step` if `is_due`, then `stop_reason`; with a reason it saves and stops.
  After a restart, callbacks due at the restored step run again. They may depend
  only on `state` and `step`.
  """

  name = ""  # of the state in checkpoints, unique within a run
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
    """Why training should stop after this step, or None; all workers ask."""


class Preempted(SystemExit):
  """Ends the program with `EXIT_CODE`: the run is saved and can continue."""

  def __init__(self):
    super().__init__(EXIT_CODE)


class EvaluationInterrupted(Exception):
  """An evaluation was stopped; it is made when the run continues."""


class TerminationRequest(Callback):
  """Turns SIGTERM into a saved checkpoint and `Preempted`.

  Spot machines, Kubernetes and Slurm send it some seconds before they take a
  machine away. `is_any` is a `worker_vote`: one signal stops all workers.
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
    self._is_received = True  # by another worker, perhaps
    return "SIGTERM received"

  def interruptible(self, items):
    """Yields items; raises `EvaluationInterrupted` once the signal has come."""
    for item in items:
      if self._is_received:
        raise EvaluationInterrupted
      yield item
