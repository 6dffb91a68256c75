"""Imports TensorFlow and Keras for a program: quickly, and without notes."""

import contextlib
import gc
import os
import shutil
import sys
import tempfile

from bert_span.keras_backend import ensure_tensorflow_backend


def import_tensorflow():
  """Imports TensorFlow and Keras, which takes seconds: check flags before."""
  if "keras" in sys.modules:
    ensure_tensorflow_backend()
    return
  # Of the 10 s of processor time of `ask` this saves 1.5: nothing is collected
  # during the import, nor looked through afterwards. Keras imports matplotlib,
  # if it is installed, and does not use it: another 0.6 s.
  gc.disable()
  hides_matplotlib = sys.modules.setdefault("matplotlib", None) is None
  try:
    with _stderr_kept_back():
      ensure_tensorflow_backend()
  finally:
    if hides_matplotlib:
      del sys.modules["matplotlib"]
    gc.enable()
  gc.freeze()


@contextlib.contextmanager
def _stderr_kept_back():
  """Holds standard error back, and prints it only after an error.

  TensorFlow writes six lines of notes there before it reads its log level.
  """
  sys.stderr.flush()
  stderr = os.dup(2)
  with tempfile.TemporaryFile() as kept:
    os.dup2(kept.fileno(), 2)
    try:
      yield
    except (Exception, SystemExit):  # Not after Ctrl-C.
      kept.seek(0)
      with os.fdopen(os.dup(stderr), "wb") as shown:
        shutil.copyfileobj(kept, shown)
      raise
    finally:
      os.dup2(stderr, 2)
      os.close(stderr)
