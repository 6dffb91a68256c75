"""Ends a run of Beam's portable runner if one of its processes is killed.

Beam itself waits for the process forever (apache/beam#19674).
"""

import threading

from apache_beam.portability import python_urns
from apache_beam.runners.portability.fn_api_runner import worker_handlers


class WatchedProcess(worker_handlers.SubprocessSdkWorkerHandler):
  """A worker process; an error of its run if it ends by itself."""

  def __init__(self, *arguments):
    super().__init__(*arguments)
    self._is_closed = threading.Event()

  def start_worker(self):
    super().start_worker()
    threading.Thread(target=self._watch, daemon=True).start()

  def close(self):
    self._is_closed.set()
    super().close()

  def _watch(self):
    self.worker_thread.join()
    error = RuntimeError(
      "A worker process ended by itself, or was killed, as by a machine that "
      "has no memory left. Give the same command again, which goes on, with "
      "fewer workers if there is too little memory."
    )
    # Requests may still be made of it.
    while not self._is_closed.wait(1.0):
      self.control_conn.abort(error)


def watch_processes():
  """Lets Beam's portable runner start its processes as `WatchedProcess`."""
  worker_handlers.WorkerHandler.register_environment(
    python_urns.SUBPROCESS_SDK, bytes
  )(WatchedProcess)
