"""Remote folders: those of tf.io.gfile that are not local paths."""

import contextlib
import os
import tempfile

import tensorflow as tf


def is_remote(directory):
  """Whether a path is one of tf.io.gfile's, such as gs://bucket/model."""
  return "://" in directory


@contextlib.contextmanager
def local_directory(directory):
  """A local path with the directory's files: itself, or a temporary copy.

  KerasHub and safetensors read local files only; KerasHub's own cache of
  remote directories never notices that one has changed.
  """
  if not is_remote(directory):
    yield directory
    return
  with tempfile.TemporaryDirectory() as local:
    copy_tree(directory, local)
    yield local


def copy_tree(source, target):
  """Copies a directory from one file system to another.

  Args:
    source: any path of tf.io.gfile.
    target: any path of tf.io.gfile; files of the same names are replaced,
      others stay.
  """
  for folder, _, names in tf.io.gfile.walk(source):
    relative = folder[len(source) :].strip("/")
    into = os.path.join(target, relative) if relative else target
    tf.io.gfile.makedirs(into)
    for name in names:
      tf.io.gfile.copy(
        os.path.join(folder, name), os.path.join(into, name), overwrite=True
      )
