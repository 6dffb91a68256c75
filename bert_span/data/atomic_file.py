"""Files that are either whole or not there."""

import json
import os
import uuid

import tensorflow as tf


def write_json_atomically(path, value):
  """Writes `value` as JSON of run_squad's form: indent 4, ASCII, a newline.

  Args:
    path: a local path, or any path of tf.io.gfile (gs://...).
    value: what json.dumps takes.

  Raises:
    OSError, tf.errors.OpError: the file cannot be written.
  """
  write_text_atomically(path, json.dumps(value, indent=4) + "\n")


def write_text_atomically(path, text):
  """Writes a UTF-8 file under another name beside `path`, then renames it.

  A reader sees the old file or the new one, never a part; so does whoever
  comes after a crash.

  Args:
    path: a local path, or any path of tf.io.gfile (gs://...).
    text: str; an old file at `path` is replaced.

  Raises:
    OSError: the file cannot be written (local paths).
    tf.errors.OpError: the same, for paths such as gs://...
  """
  path = os.fspath(path)
  unfinished = f"{path}.{uuid.uuid4().hex}.tmp"
  is_remote = "://" in path
  try:
    if is_remote:
      with tf.io.gfile.GFile(unfinished, "w") as file:
        file.write(text)
      tf.io.gfile.rename(unfinished, path, overwrite=True)
    else:
      with open(unfinished, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())  # else a power cut can leave an empty file
      os.replace(unfinished, path)
  except BaseException:
    if tf.io.gfile.exists(unfinished):
      tf.io.gfile.remove(unfinished)
    raise
