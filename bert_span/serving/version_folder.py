"""Writes a ServedModel as one version of a served model, whole or not at all.

TensorFlow Serving watches a folder and loads whatever subfolder has a number
for a name. So a version is written and checked under a name that is none, and
only then renamed:

    BASE/.unfinished.3f2a...tmp   while it is written and checked
    BASE/7                        a version
"""

import contextlib
import os
import tempfile

import tensorflow as tf

from bert_span.serving.signatures import CLASSIFY
from bert_span.storage.atomic_file import unfinished_directory
from bert_span.storage.files import is_remote

VOCABULARY_FILE = "vocab.txt"
EXTRA_FOLDER = "assets.extra"
_UNFINISHED = ".unfinished"
# TensorFlow Serving keeps versions in 64 bits.
_MAX_VERSION = 2**63 - 1


def write_saved_model(served, vocabulary, directory):
  """Writes graph, variables and vocabulary.

  Args:
    served: a `ServedModel`.
    vocabulary: list of its tokens; it becomes the asset vocab.txt, for
      clients of the signature "logits".
    directory: made if it does not exist.
  """
  with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, VOCABULARY_FILE)
    with open(path, "w", encoding="utf-8", newline="\n") as file:
      file.writelines(f"{token}\n" for token in vocabulary)
    served.vocabulary = tf.saved_model.Asset(path)
    # A plain dict: tf.Module has made a tracked one of it.
    signatures = dict(served.functions)
    tf.saved_model.save(served, directory, signatures=signatures)
  # tf.saved_model.save knows one method only, predict.
  updater = tf.compat.v1.saved_model.signature_def_utils.MethodNameUpdater(
    directory
  )
  updater.replace_method_name(
    signature_key=CLASSIFY,
    method_name=tf.saved_model.CLASSIFY_METHOD_NAME,
  )
  updater.save(directory)


@contextlib.contextmanager
def new_version(base, version=None):
  """A folder to fill, which becomes a version when the block ends.

  Args:
    base: local folder of all versions of the model; made if need be.
    version: int; None takes the next one, 1 + the highest there is.

  Yields:
    `UnfinishedVersion`.

  Raises:
    ValueError: the version exists, or `base` is not local.
  """
  base = os.path.realpath(_local(base))
  check_version(base, version)
  os.makedirs(base, exist_ok=True)

  def publish(unfinished):
    target.path = _publish(unfinished, base, version)

  with unfinished_directory(os.path.join(base, _UNFINISHED), publish) as path:
    target = UnfinishedVersion(path)
    yield target


class UnfinishedVersion:
  """A version that is being written.

  Attributes:
    directory: where to write it.
    path: where it stands once it is finished, else None.
  """

  def __init__(self, directory):
    self.directory = directory
    self.path = None


def check_version(base, version=None):
  """Refuses a version that there is already.

  Args:
    base: local folder of all versions of the model.
    version: int; None for the next one, which is always free.

  Raises:
    ValueError: the version exists or is no version, or `base` is not local.
  """
  base = _local(base)
  if os.path.lexists(base) and not os.path.isdir(base):
    raise ValueError(f"{base} is no folder. Name a folder, or a new one.")
  if version is None:
    return
  if not 1 <= version <= _MAX_VERSION:
    raise ValueError(
      f"version must be between 1 and {_MAX_VERSION}. Received: {version}."
    )
  if version in _versions(base):
    raise ValueError(
      f"{base} has a version {version} already, and a server may be reading "
      "it. Give another --version, or leave the flag out for the next one."
    )


def _local(base):
  base = os.fspath(base)
  if is_remote(base):
    raise ValueError(
      f"{base}: on a remote file system a folder cannot be renamed in one "
      "step, and a server would see half a model. Export to a local folder "
      "and copy the finished version."
    )
  return base


def _versions(base):
  """The numbers that entries of the folder have for names, as a set."""
  if not os.path.isdir(base):
    return set()
  names = [name for name in os.listdir(base) if name.isascii()]
  return {int(name) for name in names if name.isdecimal()}


def _publish(unfinished, base, version):
  """Renames a finished folder to its version, and returns the path."""
  number = version
  while True:
    if version is None:
      number = 1 + max(_versions(base), default=0)
    path = os.path.join(base, str(number))
    try:
      # Fails where another export was faster: a version is never empty.
      os.rename(unfinished, path)
      return path
    except OSError:
      if not os.path.isdir(path) or version is not None:
        check_version(base, version)
        raise
