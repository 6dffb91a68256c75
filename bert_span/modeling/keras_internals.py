"""All uses of private names of Keras and KerasHub but two.

They were checked with Keras 3.15 and KerasHub 0.32, the bounds in setup.py. The
two others are in training/optimizer.py: _get_variable_index, which Keras
documents, and _all_reduce_sum_gradients.
"""

import contextlib
import io
import os

import keras
import keras_hub
from keras.src.backend.common import global_state
from keras.src.saving import saving_lib
from keras_hub.src.utils import preset_utils


def sublayers(layer, layer_class=keras.layers.Layer):
  """Returns the sublayers of a class at any depth, the layer included."""
  return [x for x in layer._flatten_layers() if isinstance(x, layer_class)]


def is_training(layer):
  """Returns whether the running call of a layer has training=True."""
  return layer._get_call_context().get_value("training", False)


@contextlib.contextmanager
def training_calls(layer):
  """Sets training=True for calls of a layer's sublayers in this context."""
  layer._get_call_context().set_value("training", True)
  try:
    yield
  finally:
    layer._maybe_reset_call_context()


def lora_products(layer):
  """Returns (weight, scale, A, B) for each weight; LoRA adds scale * A B."""
  products = []
  for x in sublayers(layer):
    if not getattr(x, "lora_enabled", False):
      continue
    if isinstance(x, keras.layers.Embedding):
      weights = x._embeddings, x.lora_embeddings_a, x.lora_embeddings_b
    else:
      weights = x._kernel, x.lora_kernel_a, x.lora_kernel_b
    weight, a, b = weights
    products.append((weight, x.lora_alpha / x.lora_rank, a, b))
  return products


@contextlib.contextmanager
def without_values():
  """Makes variables without values, which `set_value` sets later.

  Drawing the random values of a BERT-large takes 5.8 s of the 10.0 s that
  loading it took (docs/design.md has the text for an issue of Keras).
  """
  name = "uninitialized_variables"
  before = global_state.get_global_attribute(name)
  global_state.set_global_attribute(name, [])
  try:
    with keras.StatelessScope(initialize_variables=False):
      yield
  finally:
    # Keras would keep the list, and make values for variables without one.
    global_state.set_global_attribute(name, before)


def set_value(variable, value=None):
  """Sets the value of a `without_values` variable; None is its initial one."""
  if value is None:
    variable._deferred_initialize()
  else:
    variable._initialize(value)
    variable._initializer = None


class _WeightsFile(io.BytesIO):
  """A file in memory that Keras takes for the path of a weights file."""

  def __str__(self):
    return "model.weights.h5"


def weights_content(model):
  """Returns the bytes that save_weights of a Keras model writes.

  They are written to memory: if a disk is full, the HDF5 library ends the
  process.
  """
  file = _WeightsFile()
  keras.Model.save_weights(model, file)
  return file.getvalue()


def task_weights_content(task):
  """Returns the bytes that save_task_weights of a KerasHub task writes."""
  file = _WeightsFile()
  keras_hub.models.Task.save_task_weights(task, file)
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
  """Writes the files of KerasHub's save_to_preset, except for the weights."""
  saver = preset_utils.get_preset_saver(directory)
  saver._save_serialized_object(backbone, preset_utils.CONFIG_FILE)
  saver._save_metadata(backbone)


def preset_file(preset, name):
  """Returns the local path of a file in a preset or directory, or None."""
  if os.path.isdir(preset):
    path = os.path.join(preset, name)
    return path if os.path.exists(path) else None
  try:
    return preset_utils.get_file(preset, name)
  except FileNotFoundError:
    return None
