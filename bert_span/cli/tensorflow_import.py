"""TensorFlow's import, which takes seconds and talks."""

import contextlib
import gc
import os
import shutil
import sys
import tempfile


def import_tensorflow():
  """Imports TensorFlow and Keras before the job that needs them.

  What they write to standard error meanwhile, notes on processors and plugins
  that obey no setting, is kept back unless the import fails. The garbage
  collector, which would look at all that is imported again and again, rests;
  and what is imported by now it never looks at.
  """
  gc.disable()
  try:
    with _stderr_kept_back(), _hidden("matplotlib"):
      import keras  # noqa: F401 -- not before the flags are known to be right
  finally:
    gc.enable()
  gc.freeze()


@contextlib.contextmanager
def _stderr_kept_back():
  """Keeps what is written to file descriptor 2, and shows it after an error."""
  sys.stderr.flush()
  with tempfile.TemporaryFile() as kept:
    stderr = os.dup(2)
    os.dup2(kept.fileno(), 2)
    try:
      yield
    except BaseException:
      os.dup2(stderr, 2)
      kept.seek(0)
      with os.fdopen(os.dup(2), "wb") as shown:
        shutil.copyfileobj(kept, shown)
      raise
    finally:
      os.dup2(stderr, 2)
      os.close(stderr)


@contextlib.contextmanager
def _hidden(package):
  """Lets no import find a package that Keras would load, and we not need."""
  if package in sys.modules:
    yield
    return
  sys.modules[package] = None
  try:
    yield
  finally:
    del sys.modules[package]
