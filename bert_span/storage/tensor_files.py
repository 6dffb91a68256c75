"""Files of tensors: safetensors, and pickled weights that are read only."""

import contextlib
import os

import ml_dtypes  # noqa: F401 -- lets NumPy hold bfloat16 tensors
import numpy as np
import safetensors
from safetensors import numpy as safetensors_numpy

from bert_span.options.messages import printable
from bert_span.storage import pickled_weights
from bert_span.storage.atomic_file import open_atomically

_FLOATS = ("BF16", "F16", "F32", "F64")


def write_tensors(path, tensors, metadata=None):
  """Writes a safetensors file of a dict of NumPy arrays."""
  # Only their owner can read files of safetensors.numpy.save_file.
  with open_atomically(path, binary=True) as file:
    file.write(safetensors_numpy.save(tensors, metadata))


@contextlib.contextmanager
def open_tensors(path):
  """Opens a file of tensors; a ValueError for all that can go wrong in it."""
  if os.fspath(path).endswith(pickled_weights.EXTENSION):
    yield pickled_weights.open_pickled(path)
    return
  try:
    with safetensors.safe_open(path, framework="numpy") as file:
      yield file
  # safetensors raises many types for damaged files and unknown dtypes.
  except Exception as error:
    raise ValueError(
      f"Cannot read {path} as safetensors: {error}. Download or save it again."
    ) from error


def tensor_shapes(path):
  """Returns the shapes of the tensors of a file, by their names."""
  with open_tensors(path) as file:
    return {n: file.get_slice(n).get_shape() for n in file.keys()}  # noqa: SIM118


def read_tensors(path, names=None):
  """The tensors of a file, or those of some names, as float32."""
  with open_tensors(path) as file:
    names = list(file.keys() if names is None else names)
    dtypes = {name: file.get_slice(name).get_dtype() for name in names}
    others = [name for name in names if dtypes[name] not in _FLOATS]
    if not others:
      tensors = {name: np.asarray(file.get_tensor(name)) for name in names}
      return {n: tensor.astype(np.float32) for n, tensor in tensors.items()}
  name = others[0]
  raise ValueError(
    f"{path}: {printable(name)} has the type {dtypes[name]}, which is none of "
    f"{', '.join(_FLOATS)}. Use a copy of the model that is not quantized, in "
    "float32, float16 or bfloat16."
  )
