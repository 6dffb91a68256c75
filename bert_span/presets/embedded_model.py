"""The trained models that come with the package, by name."""

import os

import tensorflow as tf

NAMES = ("minilm_squad",)
_FOLDER = os.path.join(
  os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "pretrained"
)


def find_embedded_model(preset):
  """The directory of a model that comes with the package.

  Args:
    preset: one of `NAMES`, or anything else that names a model.

  Returns:
    The model's directory; for anything else, and for a name that is a directory
    here, what was given.

  Raises:
    ValueError: the installation lacks the model's files.
  """
  preset = os.fspath(preset)
  if preset not in NAMES or tf.io.gfile.isdir(preset):
    return preset
  directory = os.path.join(_FOLDER, preset)
  if not os.path.isdir(directory):
    raise ValueError(
      f"This installation of bert_span lacks the model {preset}: there is no "
      f"{directory}. Install the package again, from its wheel or a full "
      "checkout."
    )
  return directory
