"""The folder of a training, with its lock and its flags."""

import contextlib
import errno
import fcntl
import os
import socket
import stat

from bert_span.storage.atomic_file import (
  recover_directory,
  write_text_atomically,
)
from bert_span.storage.files import is_remote, make_folder
from bert_span.training.callbacks import Callback
from bert_span.training.strategy import is_chief


@contextlib.contextmanager
def locked_folder(output_dir, strategy=None, directories=()):
  """Makes a folder, and keeps other trainings out of it.

  The lock ends with the process. Object storage has no locks, and only the
  chief locks. `directories` in it are cleaned up after a killed run.
  """
  if is_chief(strategy):
    make_folder(output_dir)
  if is_remote(output_dir) or not is_chief(strategy):
    yield
    return
  path = os.path.join(output_dir, "run.lock")
  refusal = ValueError(
    f"{path} is not a plain file, or it has a second name (a hard link), so it "
    "is no lock of a training. Remove it, or use another output_dir."
  )
  # It follows no link to a file elsewhere, and waits at no FIFO.
  mode = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
  try:
    descriptor = os.open(path, mode, 0o666)
  except OSError as error:
    if error.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
      raise refusal from error
    raise
  status = os.fstat(descriptor)
  if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
    os.close(descriptor)
    raise refusal
  with open(descriptor, "r+", encoding="utf-8", errors="replace") as lock:
    try:
      fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
      lock.seek(0)
      raise ValueError(
        f"output_dir={output_dir} is in use: {lock.read().strip()} trains "
        "there. Wait until it has ended, or use another output_dir."
      ) from error
    except OSError:
      pass  # The file system has no locks.
    lock.truncate(0)
    lock.write(f"process {os.getpid()} on {socket.gethostname()}\n")
    lock.flush()
    for name in directories:
      recover_directory(os.path.join(output_dir, name))
    yield


class RunFlags(Callback):
  """Writes run.flags when the training begins."""

  def __init__(self, output_dir, text):
    self._path = os.path.join(output_dir, "run.flags")
    self._text = text

  def __enter__(self):
    write_text_atomically(self._path, self._text)
    return self
