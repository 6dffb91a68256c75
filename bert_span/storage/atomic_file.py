"""Files that are either whole or not there."""

import contextlib
import json
import os
import re
import shutil
import uuid

import tensorflow as tf


def json_text(value):
  """`value` as JSON of run_squad's form: indent 4, ASCII, a newline at the end.

  Args:
    value: what json.dumps takes.
  """
  return json.dumps(value, indent=4) + "\n"


def write_json_atomically(path, value):
  """Writes a file of `json_text`, whole or not at all.

  Args:
    path: a local path, or any path of tf.io.gfile (gs://...).
    value: what json.dumps takes.

  Raises:
    OSError, tf.errors.OpError: the file cannot be written.
  """
  write_text_atomically(path, json_text(value))


def write_text_atomically(path, text):
  """Writes a UTF-8 file that is whole or not there.

  Args:
    path: a local path, or any path of tf.io.gfile (gs://...).
    text: str; an old file at `path` is replaced.

  Raises:
    OSError: the file cannot be written (local paths).
    tf.errors.OpError: the same, for paths such as gs://...
  """
  with open_atomically(path) as file:
    file.write(text)


@contextlib.contextmanager
def open_atomically(path, binary=False):
  """Opens a file under another name beside `path`, at last renames it.

  A reader sees the old file or the new one, never a part; so does whoever
  comes after a crash.

  Args:
    path: a local path, or any path of tf.io.gfile (gs://...); an old file is
      replaced when the block ends, and stays when the block raises.
    binary: write bytes, and not UTF-8 text.

  Yields:
    A file whose write() takes str, or bytes.

  Raises:
    OSError: the file cannot be written (local paths).
    tf.errors.OpError: the same, for paths such as gs://...
  """
  path = os.fspath(path)
  unfinished = f"{path}.{uuid.uuid4().hex}.tmp"
  is_remote = "://" in path
  try:
    if is_remote:
      with tf.io.gfile.GFile(unfinished, "wb" if binary else "w") as file:
        yield file
      tf.io.gfile.rename(unfinished, path, overwrite=True)
    else:
      with _open_local(unfinished, binary) as file:
        yield file
        file.flush()
        os.fsync(file.fileno())  # else a power cut can leave an empty file
      os.replace(unfinished, path)
  except BaseException:
    if tf.io.gfile.exists(unfinished):
      tf.io.gfile.remove(unfinished)
    raise


def write_directory(directory, write):
  """Writes a directory that is whole or not there.

  Args:
    directory: local; an old one is replaced when `write` returns, and stays
      when it raises.
    write: function of the path of an empty directory, which it fills.

  Raises:
    OSError: it cannot be made or renamed; the old one then stands where it
      stood.
  """
  unfinished = f"{directory}.{uuid.uuid4().hex}.tmp"
  os.makedirs(unfinished)
  try:
    write(unfinished)
    _replace_directory(unfinished, directory)
  finally:
    shutil.rmtree(unfinished, ignore_errors=True)


def recover_directory(directory):
  """Puts back what a process killed within `write_directory` has left.

  Between its two renames neither directory has the name: the old one is put
  back then. Unfinished and retired directories beside it are removed.

  Args:
    directory: what was to be replaced; local.
  """
  parent, name = os.path.split(os.path.abspath(directory))
  if not os.path.isdir(parent):
    return
  left = re.compile(re.escape(name) + r"\.[0-9a-f]{32}\.(tmp|old)")
  for other in sorted(filter(left.fullmatch, os.listdir(parent))):
    path = os.path.join(parent, other)
    if other.endswith(".old") and not os.path.lexists(directory):
      os.rename(path, directory)
    else:
      shutil.rmtree(path)


def _replace_directory(new, old):
  """Renames a finished directory over another one, which is removed."""
  if not os.path.isdir(old):
    os.rename(new, old)
    return
  retired = f"{old}.{uuid.uuid4().hex}.old"
  os.rename(old, retired)
  try:
    os.rename(new, old)
  except OSError:
    os.rename(retired, old)
    raise
  shutil.rmtree(retired)


def _open_local(path, binary):
  if binary:
    return open(path, "wb")
  return open(path, "w", encoding="utf-8", newline="\n")
