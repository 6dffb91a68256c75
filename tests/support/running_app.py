"""Runs an application of the local server within a test."""

import contextlib
import threading
import time

import uvicorn


@contextlib.contextmanager
def running_app(app, **options):
  """Runs a Starlette application in a thread; gives its port.

  `options` are those of uvicorn's Config.
  """
  # uvicorn's own logging would close the handlers of absl, and with one of them
  # the standard error that pytest captures.
  options = {"port": 0, "log_level": "warning", "log_config": None, **options}
  config = uvicorn.Config(app, **options)
  server = uvicorn.Server(config)
  thread = threading.Thread(target=server.run)
  thread.start()
  try:
    while not server.started:
      time.sleep(0.02)
    yield server.servers[0].sockets[0].getsockname()[1]
  finally:
    server.should_exit = True
    thread.join()
