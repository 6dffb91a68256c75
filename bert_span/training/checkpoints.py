"""Checkpoints that let a run go on exactly where it stopped."""

import json

import tensorflow as tf

from bert_span.data.atomic_file import write_json_atomically
from bert_span.training.run_options import check_same_options

# As run_squad: Estimator's names, output_dir/model.ckpt-<step>.
CHECKPOINT_NAME = "model.ckpt"
OPTIONS_FILE = "training_options.json"
_OTHER_DIRECTORY = (
  "Use another --output_dir, or the model that the run was begun with."
)


class RunCheckpoints:
  """Saves and restores a run in output_dir/model.ckpt-<step>.

  A checkpoint holds the weights, the optimizer's variables, the number of
  steps made and the states of the model's random generators (dropout), which
  Keras does not count among the weights. Beside the checkpoints stands
  training_options.json with all that must not change within a run.

  Args:
    model: built keras.Model.
    optimizer: keras optimizer, built.
    step: int64 tf.Variable, steps made.
    output_dir: folder, local or any path of tf.io.gfile; made when missing.
    options: dict of JSON values that must be the same for a checkpoint to be
      continued: it would be another run otherwise.
    max_to_keep: checkpoints that are kept; older ones are deleted.
    write_dir: folder that is written to; None for output_dir. All workers
      must save, but the files of all but the chief are of no use.
  """

  def __init__(
    self,
    model,
    optimizer,
    step,
    output_dir,
    options,
    max_to_keep,
    write_dir=None,
  ):
    self._output_dir = output_dir
    self._write_dir = write_dir or output_dir
    self._options_path = tf.io.gfile.join(output_dir, OPTIONS_FILE)
    self._options = json.loads(json.dumps(options))  # tuples become lists
    self._step = step
    # Lists of variables and not the objects: nothing can be missed because an
    # object does not track it, and no key depends on how often Keras has used
    # a layer's name in this process.
    self._variables = {
      "weights": list(model.weights),
      "optimizer": list(optimizer.variables),
      "rng": random_states(model),
    }
    values = {
      name: [variable.value for variable in variables]
      for name, variables in self._variables.items()
    }
    self._checkpoint = tf.train.Checkpoint(step=step, **values)
    self._manager = tf.train.CheckpointManager(
      self._checkpoint,
      directory=self._write_dir,
      max_to_keep=max_to_keep,
      checkpoint_name=CHECKPOINT_NAME,
    )

  def save(self):
    """Writes a checkpoint of the current step.

    Returns:
      Its path, without the endings of its files.
    """
    return self._manager.save(checkpoint_number=int(self._step))

  def restore_or_begin(self):
    """Restores the latest checkpoint, or notes the options of a new run.

    Returns:
      Path of the checkpoint; None when the run is new.

    Raises:
      ValueError: the checkpoint belongs to another model, to a run with other
        options or to another program, or cannot be read.
    """
    latest = tf.train.latest_checkpoint(self._output_dir)
    if latest is None:
      tf.io.gfile.makedirs(self._write_dir)
      write_json_atomically(
        tf.io.gfile.join(self._write_dir, OPTIONS_FILE), self._options
      )
      return None
    self._check_options(latest)
    try:
      self._check_shapes(latest)
      status = self._checkpoint.restore(latest)
      status.assert_existing_objects_matched()
    except tf.errors.OpError as error:
      raise ValueError(
        f"The checkpoint {latest} cannot be read ({error.message}). Use "
        "another --output_dir, or empty this one to begin again."
      ) from error
    return latest

  def _check_options(self, latest):
    """Refuses a checkpoint that other options or programs have made."""
    if not tf.io.gfile.exists(self._options_path):
      raise ValueError(
        f"{latest} is a checkpoint of another program: there is no "
        f"{OPTIONS_FILE} beside it. Use another --output_dir; to begin from "
        "the weights of that checkpoint, pass it as --init_checkpoint."
      )
    with tf.io.gfile.GFile(self._options_path, "rb") as file:
      saved = file.read()
    check_same_options(saved, self._options, self._options_path)

  def _check_shapes(self, latest):
    """Refuses a checkpoint of another model and names what differs."""
    saved = tf.train.load_checkpoint(latest).get_variable_to_shape_map()
    expected = {
      f"{name}/{index}/.ATTRIBUTES/VARIABLE_VALUE": variable
      for name, variables in self._variables.items()
      for index, variable in enumerate(variables)
    }
    for key, variable in expected.items():
      if saved.get(key) != list(variable.shape):
        raise ValueError(
          f"The checkpoint {latest} is of another model: {variable.path} has "
          f"shape {list(variable.shape)} here and "
          f"{saved.get(key, 'no counterpart')} there. {_OTHER_DIRECTORY}"
        )
    held = [key for key in saved if key.split("/")[0] in self._variables]
    if len(held) != len(expected):
      raise ValueError(
        f"The checkpoint {latest} is of another model: it has {len(held)} "
        f"variables, this run has {len(expected)}. {_OTHER_DIRECTORY}"
      )


def random_states(model):
  """Lists the states of a model's random generators, which are no weights.

  Args:
    model: built keras.Model.

  Returns:
    List of keras.Variable, in the model's order.
  """
  weights = {id(variable) for variable in model.weights}
  return [v for v in model.variables if id(v) not in weights]
