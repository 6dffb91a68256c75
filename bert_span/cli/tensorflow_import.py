"""Imports TensorFlow quickly and quietly."""

import contextlib
import gc
import os
import shutil
import sys
import tempfile


def import_tensorflow():
  """Imports TensorFlow and Keras, which takes seconds: check flags before.

  Notes on processors and plugins, which no setting turns off, are printed only
  if the import fails. The garbage collector is off meanwhile, and ignores the
  imported objects afterwards.
  """
  if "keras" in sys.modules:
    return
  gc.disable()
  try:
    with _stderr_kept_back(), _hidden("matplotlib"):
      import keras  # noqa: F401 -- not before the flags are checked
  finally:
    gc.enable()
  gc.freeze()


@contextlib.contextmanager
def _stderr_kept_back():
  """Holds back what is written to standard error; prints it after an error."""
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
  """Makes imports of an optional package fail, so that Keras skips it."""
  if package in sys.modules:
    yield
    return
  sys.modules[package] = None
  try:
    yield
  finally:
    del sys.modules[package]
