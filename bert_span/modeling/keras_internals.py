"""What the package needs of Keras and KerasHub that has no public name.

Checked with Keras 3.15 and KerasHub 0.32, the bounds in setup.py. Only
training/optimizer.py uses other private names: _get_variable_index, as Keras
documents it, and _all_reduce_sum_gradients.
"""

import contextlib
import os

import keras
from keras_hub.src.utils import preset_utils


def sublayers(layer, kind=keras.layers.Layer):
  """Returns a layer's sublayers of a class at any depth, itself included."""
  return [part for part in layer._flatten_layers() if isinstance(part, kind)]


def is_training(layer):
  """Returns whether the call that a layer is in is one of training."""
  return layer._get_call_context().get_value("training", False)


@contextlib.contextmanager
def training_calls(layer):
  """Makes the calls of sublayers, also outside of the layer's, train."""
  layer._get_call_context().set_value("training", True)
  try:
    yield
  finally:
    layer._maybe_reset_call_context()


def preset_file(preset, name):
  """Returns the local path of a file of a preset or directory, or None."""
  if os.path.isdir(preset):
    path = os.path.join(preset, name)
    return path if os.path.exists(path) else None
  try:
    return preset_utils.get_file(preset, name)
  except FileNotFoundError:
    return None
