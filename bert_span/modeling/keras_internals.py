"""What the package needs of Keras and KerasHub that has no public name.

Checked with Keras 3.15 and KerasHub 0.32, the bounds in setup.py. Only
training/optimizer.py uses other private names: _get_variable_index, as Keras
documents it, and _all_reduce_sum_gradients.
"""

import contextlib
import io
import os

import keras
from keras.src.backend.common import global_state
from keras.src.saving import saving_lib
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


def lora_products(layer):
  """Returns what LoRA adds in a layer: (weight, scale, A, B) of scale A B."""
  products = []
  for part in sublayers(layer):
    if not getattr(part, "lora_enabled", False):
      continue
    if isinstance(part, keras.layers.Embedding):
      weights = part._embeddings, part.lora_embeddings_a, part.lora_embeddings_b
    else:
      weights = part._kernel, part.lora_kernel_a, part.lora_kernel_b
    weight, a, b = weights
    products.append((weight, part.lora_alpha / part.lora_rank, a, b))
  return products


@contextlib.contextmanager
def without_values():
  """Makes variables with shapes only, until `set_value` is called.

  Random values of a BERT of base size would take seconds.
  """
  name = "uninitialized_variables"
  before = global_state.get_global_attribute(name)
  global_state.set_global_attribute(name, [])
  try:
    with keras.StatelessScope(initialize_variables=False):
      yield
  finally:
    # Keras would keep them, and make values of those that are left.
    global_state.set_global_attribute(name, before)


def set_value(variable, value=None):
  """Gives a variable of `without_values` its value, or its initial one."""
  if value is None:
    variable._deferred_initialize()
  else:
    variable._initialize(value)
    variable._initializer = None


class _WeightsFile(io.BytesIO):
  """A file in memory that Keras takes for the path of one."""

  def __str__(self):
    return "model.weights.h5"


def weights_content(model):
  """Returns the bytes that save_weights of a Keras model writes.

  The HDF5 library ends the process where it cannot write to the disk, so it
  writes to memory.
  """
  file = _WeightsFile()
  keras.Model.save_weights(model, file)
  return file.getvalue()


def keras_content(model):
  """Returns the bytes of a model's .keras file."""
  file = io.BytesIO()
  saving_lib.save_model(model, file)
  return file.getvalue()


def load_keras_content(content, custom_objects):
  """Returns the model in the bytes of a .keras file, without its optimizer."""
  file = io.BytesIO(content)
  return saving_lib.load_model(file, custom_objects, compile=False)


def write_preset_config(backbone, directory):
  """Writes what KerasHub's save_to_preset does, but for the weights."""
  saver = preset_utils.get_preset_saver(directory)
  saver._save_serialized_object(backbone, preset_utils.CONFIG_FILE)
  saver._save_metadata(backbone)


def preset_file(preset, name):
  """Returns the local path of a file of a preset or directory, or None."""
  if os.path.isdir(preset):
    path = os.path.join(preset, name)
    return path if os.path.exists(path) else None
  try:
    return preset_utils.get_file(preset, name)
  except FileNotFoundError:
    return None
