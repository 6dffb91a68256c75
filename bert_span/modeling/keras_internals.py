"""What the package needs of Keras and KerasHub that they do not offer publicly.

Checked with Keras 3.15 and KerasHub 0.32, the bounds in setup.py;
tests/modeling/keras_internals_test.py says which name has gone. Beside this
module only training/optimizer.py uses private names: those that a subclass of
keras.optimizers.AdamW has to.
"""

import contextlib
import threading

import keras
from keras_hub.src.utils import preset_utils

_drawing = threading.Lock()


def sublayers(layer, kind=keras.layers.Layer):
  """The layers of a class inside a layer, at any depth, itself included.

  keras.Model.layers shows the layers of a model, but no public name shows those
  inside a keras_hub.layers.TransformerEncoder: its attention (a
  MultiHeadAttention, with a Softmax and a Dropout inside) and its dense layers.

  Args:
    layer: a built keras.layers.Layer.
    kind: class, or tuple of classes, as isinstance takes it.
  """
  return [part for part in layer._flatten_layers() if isinstance(part, kind)]


@contextlib.contextmanager
def weights_undrawn():
  """Has the layers that this thread builds meanwhile begin with zeros.

  For weights that are read next: KerasHub draws an encoder's before it reads
  them, which takes nearly as long. What is drawn later does not depend on it,
  as every initializer has a seed of its own.
  """
  initializer, thread = (
    keras.initializers.TruncatedNormal,
    threading.get_ident(),
  )
  with _drawing:
    draw = initializer.__call__

    def begin(self, shape, dtype=None):
      if threading.get_ident() == thread:
        return keras.ops.zeros(shape, dtype)
      return draw(self, shape, dtype)

    initializer.__call__ = begin
    try:
      yield
    finally:
      initializer.__call__ = draw


def preset_file(preset, name):
  """The local path of a file of a KerasHub preset, downloaded if need be.

  The public keras_hub.models.BertTokenizer.from_preset needs a file that says
  whether text is lower-cased, which many repositories of Hugging Face lack.

  Args:
    preset: a name or handle that KerasHub knows.
    name: path of the file in the preset.

  Returns:
    str; None where the preset has no such file.
  """
  try:
    return preset_utils.get_file(preset, name)
  except FileNotFoundError:
    return None
