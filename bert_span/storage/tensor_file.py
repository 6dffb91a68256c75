"""Safetensors files that other users may read, whole or not there."""

from safetensors import numpy as safetensors_numpy

from bert_span.storage.atomic_file import open_atomically


def write_tensors(path, tensors, metadata=None):
  """Writes a safetensors file with the permissions of any new file.

  safetensors' own save_file makes files that only their owner can read, so that
  a server under another user could not load the model.

  Args:
    path: local; an old file is replaced.
    tensors: dict of names to NumPy arrays.
    metadata: dict of strings to strings for the file's header, or None.
  """
  with open_atomically(path, binary=True) as file:
    file.write(safetensors_numpy.save(tensors, metadata))
