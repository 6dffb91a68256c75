"""What the package needs of Keras and KerasHub that has no public name.

Checked with Keras 3.15 and KerasHub 0.32, the bounds in setup.py. Only
training/optimizer.py uses other private names, those that a subclass of
keras.optimizers.AdamW needs.
"""

import contextlib
import functools
import os
import threading

import keras
from keras_hub.src.utils import preset_utils

_drawing = threading.Lock()


def sublayers(layer, kind=keras.layers.Layer):
  """The layers of a class inside a layer, at any depth, itself included."""
  return [part for part in layer._flatten_layers() if isinstance(part, kind)]


@contextlib.contextmanager
def weights_undrawn():
  """Makes the layers that this thread builds start with zeros.

  KerasHub would draw an encoder's weights before it reads them, which takes
  nearly as long. Later draws do not change: each initializer has its own seed.
  """
  initializer = keras.initializers.TruncatedNormal
  thread = threading.get_ident()
  zeros = functools.cache(keras.ops.zeros)  # one tensor for layers alike
  with _drawing:
    draw = initializer.__call__

    def zeros_or_draw(self, shape, dtype=None):
      if threading.get_ident() == thread:
        return zeros(tuple(shape), dtype)
      return draw(self, shape, dtype)

    initializer.__call__ = zeros_or_draw
    try:
      yield
    finally:
      initializer.__call__ = draw


def preset_file(preset, name):
  """The local path of a file of a preset or directory, or None."""
  if os.path.isdir(preset):
    path = os.path.join(preset, name)
    return path if os.path.exists(path) else None
  try:
    return preset_utils.get_file(preset, name)
  except FileNotFoundError:
    return None
