"""What a run of many shards was begun with, so that none is continued wrongly.

The shards of a run are worked on one by one, maybe by several commands after
one another. They belong together only while inputs, model and options are the
same: those of the first command are kept in job.json, others are refused.
"""

import hashlib
import json
import os

import tensorflow as tf

from bert_span.storage.atomic_file import write_json_atomically
from bert_span.storage.fingerprints import check_same_options

JOB_FILE = "job.json"
_BLOCK_BYTES = 1 << 20
_LONG_LIST = 100


def begin_or_continue(directory, options):
  """Notes the options of a new run, or compares them with those of its start.

  Args:
    directory: of the run, local or any path of tf.io.gfile; made if need be.
    options: dict of JSON values.

  Raises:
    ValueError: the run that stands there was begun with others.
  """
  path = os.path.join(directory, JOB_FILE)
  if tf.io.gfile.exists(path):
    check_same_options(path, options)
    return
  tf.io.gfile.makedirs(directory)
  write_json_atomically(path, options)


def as_json(options):
  """Options as JSON values; long lists, a vocabulary say, as their SHA-256.

  Args:
    options: dict as dataclasses.asdict gives it.
  """
  values = json.loads(json.dumps(options))
  return {
    name: _sha256(value)
    if isinstance(value, list) and len(value) > _LONG_LIST
    else value
    for name, value in values.items()
  }


def _sha256(value):
  return hashlib.sha256(json.dumps(value).encode()).hexdigest()


def input_options(paths):
  """Dict of path to size in bytes; contents of inputs are not compared.

  Args:
    paths: list of files.
  """
  return {path: tf.io.gfile.stat(path).length for path in paths}


def folder_sha256(directory):
  """SHA-256 of the names and contents of all files of a folder.

  Args:
    directory: local or any path of tf.io.gfile.
  """
  digest = hashlib.sha256()
  for folder, _, names in sorted(tf.io.gfile.walk(directory)):
    for name in sorted(names):
      path = os.path.join(folder, name)
      digest.update(os.path.relpath(path, directory).encode() + b"\0")
      with tf.io.gfile.GFile(path, "rb") as file:
        while block := file.read(_BLOCK_BYTES):
          digest.update(block)
  return digest.hexdigest()
