"""The options of a run that must not change while it is continued."""

import keras


def optimizer_options(optimizer):
  """Gives what an optimizer was made with, as JSON values.

  Args:
    optimizer: keras optimizer.

  Returns:
    Dict, without the name, which only counts the optimizers of a process. A
    learning rate schedule is the dict of its arguments.
  """
  options = optimizer.get_config()
  del options["name"]
  rate = options["learning_rate"]
  if isinstance(rate, dict):  # A schedule as Keras serializes it.
    options["learning_rate"] = rate["config"]
  elif not isinstance(rate, float):
    options["learning_rate"] = float(keras.ops.convert_to_numpy(rate))
  return {"class": type(optimizer).__name__, **options}
