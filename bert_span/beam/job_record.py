"""The options that a run of many shards was started with.

The shards of a run may be made by several commands, one after the other. They
belong together only with the same inputs, model and options: job.json keeps
those of the first command, and commands with others are refused.
"""

import hashlib
import json
import os

import tensorflow as tf

from bert_span.storage.atomic_file import write_json_atomically
from bert_span.storage.files import open_file
from bert_span.storage.fingerprints import check_same_options

_BLOCK_BYTES = 1 << 20


def start_or_continue(directory, options):
  """Writes the options of a new run, or compares them with those of its start.

  Args:
    directory: of the run, local or any path of tf.io.gfile; made if need be.
    options: dict of JSON values.
  """
  path = os.path.join(directory, "job.json")
  if tf.io.gfile.exists(path):
    # As JSON gives them back: lists instead of tuples.
    check_same_options(path, json.loads(json.dumps(options)))
    return
  tf.io.gfile.makedirs(directory)
  write_json_atomically(path, options)


def folder_sha256(directory):
  """SHA-256 of the names and contents of all files of a folder."""
  digest = hashlib.sha256()
  for folder, _, names in sorted(tf.io.gfile.walk(directory)):
    for name in sorted(names):
      path = os.path.join(folder, name)
      digest.update(os.path.relpath(path, directory).encode() + b"\0")
      with open_file(path) as file:
        while block := file.read(_BLOCK_BYTES):
          digest.update(block)
  return digest.hexdigest()
