"""Writes files and directories whole or not at all."""

import contextlib
import errno
import fcntl
import json
import os
import re
import shutil
import tempfile
import uuid

from bert_span.storage.files import (
  copy_tree,
  gfile,
  is_remote,
  make_folder,
  open_file,
  tree_files,
)


def json_text(value):
  """`value` as JSON in run_squad's format: indent 4, ASCII, final newline."""
  return json.dumps(value, indent=4) + "\n"


def write_json_atomically(path, value):
  """Writes `json_text(value)` to a local or remote path."""
  write_text_atomically(path, json_text(value))


def write_text_atomically(path, text):
  """Writes a UTF-8 file to a local or remote path."""
  with open_atomically(path) as file:
    file.write(text)


def write_lines(path, lines):
  """Writes an iterable of lines, one by one, to a local or remote path."""
  with open_atomically(path) as file:
    for line in lines:
      file.write(f"{line}\n")


def write_bytes(path, content):
  """Writes a file of bytes."""
  with open_atomically(path, binary=True) as file:
    file.write(content)


def write_files(directory, contents, outdated=()):
  """Replaces a set of files, so that no reader sees files of two sets.

  Every new file is complete on the disk before the first old one is removed.
  If killed between removal and rename, neither set exists. The first file is
  renamed last: if it exists, all do.

  Args:
    directory: local or remote; made if it does not exist.
    contents: dict of texts or bytes by file name.
    outdated: names of files of earlier sets, which are removed.

  Returns:
    Lists of the paths that were written, and of outdated files removed.
  """
  directory = os.fspath(directory)
  make_folder(directory)
  paths = [os.path.join(directory, name) for name in contents]
  with contextlib.ExitStack() as stack:
    for path, content in zip(paths, contents.values(), strict=True):
      unfinished = stack.enter_context(unfinished_file(path))
      if isinstance(content, str):
        content = content.encode("utf-8")
      with open_file(unfinished, "wb") as file:
        file.write(content)
      if not is_remote(directory):
        _sync(unfinished)
    for path in paths:
      _remove(path)
    old_paths = (
      os.path.join(directory, n) for n in outdated if n not in contents
    )
    removed = [path for path in old_paths if _remove(path, follows=False)]
  return paths, removed


def _remove(path, follows=True):
  """Removes a file; returns whether it existed.

  Of a symbolic link it removes the target if it `follows`, or else the link.
  """
  if is_remote(path):
    import tensorflow as tf  # Seconds: only for remote paths.

    try:
      tf.io.gfile.remove(path)  # Where keys are flat, exists() takes prefixes.
    except tf.errors.NotFoundError:
      return False
    return True
  path = os.path.realpath(path) if follows else path
  is_file = os.path.isfile(path)
  if is_file:
    os.remove(path)
  return is_file


@contextlib.contextmanager
def open_atomically(path, binary=False):
  """Opens an `unfinished_file` for UTF-8 text, or for bytes."""
  with (
    unfinished_file(path) as unfinished,
    open_file(unfinished, "wb" if binary else "w") as file,
  ):
    try:
      yield file
    except UnicodeEncodeError as error:
      # Half a character, or a byte of a name in another encoding.
      error.reason += f". Correct the text that is written to {path}"
      raise


@contextlib.contextmanager
def unfinished_file(path):
  """Yields the path of a file to write, which replaces `path` at the end.

  A reader sees the old file or the new one, never a part, even after a crash.
  When the block raises, the old file stays. A symbolic link stays: its target
  is replaced. A device or a pipe is yielded itself.
  """
  path = os.fspath(path)
  if os.path.isdir(path):
    raise IsADirectoryError(f"{path} is a folder. Give the name of a file.")
  if os.path.exists(path) and not os.path.isfile(path):
    with _full_disk_named(path):
      yield path
    return
  path = path if is_remote(path) else os.path.realpath(path)
  unfinished = f"{path}.{uuid.uuid4().hex}.tmp"
  try:
    with _full_disk_named(path):
      yield unfinished
      if is_remote(path):
        gfile().rename(unfinished, path, overwrite=True)
      else:
        _sync(unfinished)
        os.replace(unfinished, path)
  except BaseException:
    _remove(unfinished)
    raise


@contextlib.contextmanager
def _full_disk_named(path):
  """Adds the path to errors of a full disk, in which Python names no file."""
  try:
    yield
  except OSError as error:
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    if is_full and error.filename is None:
      raise OSError(error.errno, error.strerror, path) from error
    raise


@contextlib.contextmanager
def unfinished_directory(directory, publish=None):
  """Yields a local directory to fill, which replaces `directory` at the end.

  When the block raises, the old directory stays. Where it must not be replaced,
  `publish` is a function that renames the filled directory instead.
  """
  directory = os.path.realpath(directory)  # A symbolic link stays.
  unfinished = f"{directory}.{uuid.uuid4().hex}.tmp"
  lock = _locked_directory(unfinished)
  try:
    with _full_disk_named(directory):
      yield unfinished
      for name in tree_files(unfinished):
        if not os.path.islink(os.path.join(unfinished, name)):
          _sync(os.path.join(unfinished, name))
      _set_modes(unfinished, directory)
    if publish:
      publish(unfinished)
      return
    retired = f"{directory}.{uuid.uuid4().hex}.old"
    if os.path.isdir(directory):
      os.rename(directory, retired)
    try:
      os.rename(unfinished, directory)
    except OSError:
      if os.path.isdir(retired):
        os.rename(retired, directory)
      raise
    shutil.rmtree(retired, ignore_errors=True)
  finally:
    shutil.rmtree(unfinished, ignore_errors=True)
    os.close(lock)


def _set_modes(unfinished, directory):
  """Gives each folder the mode of the one it replaces, or of its parent."""
  for folder in [folder for folder, _, _ in os.walk(unfinished)]:
    replaced = os.path.join(directory, os.path.relpath(folder, unfinished))
    if os.path.isdir(replaced):
      shutil.copymode(replaced, folder)
    elif folder != unfinished:
      shutil.copymode(os.path.dirname(folder), folder)


@contextlib.contextmanager
def replaced_directory(directory, last=(), keeps=lambda name: False):
  """Yields a local directory to fill, which replaces a directory at the end.

  A local directory is replaced as a whole, see `unfinished_directory`. On a
  remote file system files are replaced one by one.

  Args:
    directory: local or remote.
    last: names of files without which readers ignore a remote directory: they
      are removed first and written last.
    keeps: a function of the relative path of an old file without a new one:
      whether it stays.
  """
  directory = os.fspath(directory)
  if not is_remote(directory):
    with unfinished_directory(directory) as unfinished:
      yield unfinished
      _copy_kept(directory, unfinished, keeps)
    return
  with tempfile.TemporaryDirectory() as local:
    yield local
    for name in last:
      _remove(os.path.join(directory, name))
    new_files = tree_files(local)
    for name in tree_files(directory):
      if name not in new_files and not keeps(name):
        _remove(os.path.join(directory, name))
    copy_tree(local, directory, last)


def _copy_kept(source, target, keeps):
  """Copies what is only in `source`: files, links, empty folders."""
  for folder, folders, files in os.walk(source):
    links = [n for n in folders if os.path.islink(os.path.join(folder, n))]
    for name in (*files, *links):
      old = os.path.join(folder, name)
      new = os.path.join(target, os.path.relpath(old, source))
      if keeps(os.path.relpath(old, source)) and not os.path.lexists(new):
        os.makedirs(os.path.dirname(new), exist_ok=True)
        shutil.copy2(old, new, follow_symlinks=False)
    if not (folders or files):
      path = os.path.join(target, os.path.relpath(folder, source))
      os.makedirs(path, exist_ok=True)


def recover_directory(directory):
  """Cleans up after processes that were killed in `unfinished_directory`.

  An old directory that lost its name gets it back. All else that is unfinished
  or old is removed, except what another process is writing.
  """
  parent, name = os.path.split(os.path.realpath(directory))
  if not os.path.isdir(parent):
    return
  pattern = re.compile(re.escape(name) + r"\.[0-9a-f]{32}\.(tmp|old)")
  for leftover in sorted(filter(pattern.fullmatch, os.listdir(parent))):
    path = os.path.join(parent, leftover)
    if os.path.islink(path) or not os.path.isdir(path):
      continue  # Not ours; opening a FIFO would wait.
    if leftover.endswith(".old") and not os.path.lexists(directory):
      os.rename(path, directory)
      continue
    with contextlib.suppress(OSError):
      lock = os.open(path, os.O_RDONLY)
      try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(path)
      finally:
        os.close(lock)


def _locked_directory(path):
  """Makes a directory; the descriptor of its lock, which ends with the process.

  Where the file system has no locks, `recover_directory` removes nothing.
  """
  while True:
    os.makedirs(path, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
      lock = os.open(path, os.O_RDONLY)
      with contextlib.suppress(OSError):
        fcntl.flock(lock, fcntl.LOCK_EX)
      if os.path.exists(path):
        return lock
      os.close(lock)  # `recover_directory` was faster.


def _sync(path):
  """Waits until a file is on the disk: a power cut could leave it empty."""
  with open(path, "rb") as file:
    os.fsync(file.fileno())
