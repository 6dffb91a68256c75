"""Keras' weight files with half as many bytes, or fewer."""

import h5py
import numpy as np

from bert_span.storage.atomic_file import unfinished_file


def halve_weights(path):
  """Rewrites a local .weights.h5 file with float16 for float32, compressed.

  Keras reads it into variables of any type. What float16 cannot tell from
  zero, below 3e-8, becomes zero. HDF5's shuffle and gzip take another tenth.

  Args:
    path: the file; it is replaced at once, or not at all.

  Raises:
    ValueError: a weight is too large for float16.
  """
  with (
    unfinished_file(path) as unfinished,
    h5py.File(path) as source,
    h5py.File(unfinished, "w") as target,
  ):

    def copy(name, item):
      if isinstance(item, h5py.Dataset):
        values = _halved(item[()], name)
        packing = {"compression": "gzip", "shuffle": True}
        copied = target.create_dataset(
          name, data=values, **(packing if values.size > 1 else {})
        )
      else:
        copied = target.require_group(name)
      copied.attrs.update(item.attrs)

    target.attrs.update(source.attrs)
    source.visititems(copy)


def _halved(values, name):
  if values.dtype != np.float32:
    return values
  largest = np.finfo(np.float16).max
  if not np.all(np.abs(values) <= largest):
    raise ValueError(
      f"The weight {name} has values beyond {largest}, which float16 cannot "
      "hold. Save the model in float32."
    )
  return values.astype(np.float16)
