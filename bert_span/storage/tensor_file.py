"""Safetensors files that others may read, whole or not there."""

import os

from safetensors import numpy as safetensors_numpy


def write_tensors(path, tensors, metadata=None):
  """Writes a safetensors file with the permissions of any new file.

  safetensors' own save_file makes files that only their owner can read, so that
  a server under another user could not load the model.

  Args:
    path: local; an old file is replaced.
    tensors: dict of names to NumPy arrays.
    metadata: dict of strings to strings for the file's header, or None.
  """
  unfinished = f"{path}.{os.getpid()}.tmp"
  with open(unfinished, "wb") as file:
    file.write(safetensors_numpy.save(tensors, metadata))
  os.replace(unfinished, path)
