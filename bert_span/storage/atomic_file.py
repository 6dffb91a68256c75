"""Files that are either whole or not there."""

import contextlib
import json
import os
import re
import shutil
import uuid

import tensorflow as tf

from bert_span.storage.remote import is_remote


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
  """Opens an `unfinished_file` for writing.

  Args:
    path: a local path, or any path of tf.io.gfile (gs://...).
    binary: write bytes, and not UTF-8 text.

  Yields:
    A file whose write() takes str, or bytes.

  Raises:
    OSError: the file cannot be written (local paths).
    tf.errors.OpError: the same, for paths such as gs://...
  """
  mode = "wb" if binary else "w"
  text = {} if binary else {"encoding": "utf-8", "newline": "\n"}
  with unfinished_file(path) as unfinished:
    if is_remote(unfinished):
      with tf.io.gfile.GFile(unfinished, mode) as file:
        yield file
    else:
      with open(unfinished, mode, **text) as file:
        yield file


@contextlib.contextmanager
def unfinished_file(path):
  """Yields the path of a file to write, which is renamed when the block ends.

  A reader sees the old file or the new one, never a part; so does whoever
  comes after a crash. The file gets the permissions of any new file.

  Args:
    path: a local path, or any path of tf.io.gfile (gs://...); an old file is
      replaced when the block ends, and stays when the block raises.

  Yields:
    A path beside `path`; nothing is there yet.

  Raises:
    OSError: the file cannot be renamed (local paths).
    tf.errors.OpError: the same, for paths such as gs://...
  """
  path = os.fspath(path)
  unfinished = f"{path}.{uuid.uuid4().hex}.tmp"
  try:
    yield unfinished
    if is_remote(path):
      tf.io.gfile.rename(unfinished, path, overwrite=True)
    else:
      _sync(unfinished)
      os.replace(unfinished, path)
  except BaseException:
    if tf.io.gfile.exists(unfinished):
      tf.io.gfile.remove(unfinished)
    raise


@contextlib.contextmanager
def unfinished_directory(directory, publish=None):
  """Yields a directory to fill, which is renamed when the block ends.

  Args:
    directory: local; an old one is replaced when the block ends, and stays
      when the block raises.
    publish: function of the path of the filled directory that renames it
      instead, where an old directory must not be replaced.

  Yields:
    The path of an empty directory beside `directory`.

  Raises:
    OSError: it cannot be made or renamed; the old one then keeps its name.
  """
  unfinished = f"{directory}.{uuid.uuid4().hex}.tmp"
  os.makedirs(unfinished)
  try:
    yield unfinished
    for folder, _, names in os.walk(unfinished):
      for name in names:
        _sync(os.path.join(folder, name))
    if publish:
      publish(unfinished)
    else:
      _replace_directory(unfinished, directory)
  finally:
    shutil.rmtree(unfinished, ignore_errors=True)


def recover_directory(directory):
  """Puts back what a process killed within `unfinished_directory` has left.

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


def _sync(path):
  """Waits until a file is on the disk: a power cut can leave it empty else."""
  with open(path, "rb") as file:
    os.fsync(file.fileno())
