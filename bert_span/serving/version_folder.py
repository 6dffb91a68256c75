"""Writes a ServedModel as one version of a served model, whole or not at all.

TensorFlow Serving watches a folder and loads every subfolder that has a number
for a name. So a version is written and checked under another name, and only
then renamed:

    BASE/.unfinished.3f2a...tmp   while it is written and checked
    BASE/7                        a version
"""

import contextlib
import os
import types

from bert_span.presets.model_directory import check_folder_name
from bert_span.storage.atomic_file import (
  recover_directory,
  unfinished_directory,
)
from bert_span.storage.files import is_remote

# TensorFlow Serving keeps versions in 64 bits.
_MAX_VERSION = 2**63 - 1


@contextlib.contextmanager
def new_version(base, version=None):
  """A folder to fill, which becomes a version when the block ends.

  `base` is the local folder of all versions; it is made if it does not exist,
  and leftovers of killed exports are removed. Version None is 1 + the highest
  version. Yields an object with the attributes directory, to write to, and
  path, the version's path once the block has ended.
  """
  check_version(base, version)
  base = os.path.realpath(base)
  os.makedirs(base, exist_ok=True)
  target = types.SimpleNamespace(directory=None, path=None)

  def publish(unfinished):
    while target.path is None:
      path = os.path.join(base, str(version or _next_version(base)))
      try:
        # Fails if another export was faster: a version is never empty.
        os.rename(unfinished, path)
        target.path = path
      except OSError:
        if version or not os.path.isdir(path):
          check_version(base, version)
          raise

  unfinished = os.path.join(base, ".unfinished")
  recover_directory(unfinished)
  with unfinished_directory(unfinished, publish) as path:
    target.directory = path
    yield target


def extra_path(directory, name):
  """The path of a file in a version's assets.extra, which is made."""
  folder = os.path.join(directory, "assets.extra")
  os.makedirs(folder, exist_ok=True)
  return os.path.join(folder, name)


def check_version(base, version=None):
  """Raises ValueError if `base` or `version` cannot be used."""
  base = os.fspath(base)
  check_folder_name(base)
  if is_remote(base):
    raise ValueError(
      f"{base} is on a remote file system, where a server would see half a "
      "model. Export to a local folder and copy the finished version."
    )
  real = os.path.realpath(base)
  if set("[\\") & set(real):
    raise ValueError(
      f"{real} has [ or \\ in its path, where TensorFlow finds no weights of a "
      "SavedModel. Export to another folder."
    )
  if os.path.lexists(base) and not os.path.isdir(base):
    raise ValueError(f"{base} is not a folder. Name a folder, or a new one.")
  if version is None:
    _next_version(base)
    return
  if not 1 <= version <= _MAX_VERSION:
    raise ValueError(
      f"version must be between 1 and {_MAX_VERSION}. Received: {version}."
    )
  if version in _versions(base):
    raise ValueError(
      f"{base} already has a version {version}. Give another --version, or "
      "leave the flag out for the next one."
    )


def _next_version(base):
  version = 1 + max(_versions(base), default=0)
  if version > _MAX_VERSION:
    raise ValueError(
      f"{base} has version {version - 1}, and TensorFlow Serving reads none "
      f"above {_MAX_VERSION}. Give a free --version."
    )
  return version


def _versions(base):
  names = os.listdir(base) if os.path.isdir(base) else []
  return {int(n) for n in names if n.isascii() and n.isdecimal()}
