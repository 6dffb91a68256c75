"""Checkpoints from which a run continues exactly where it stopped."""

import json

import tensorflow as tf

from bert_span.storage.atomic_file import write_json_atomically
from bert_span.storage.fingerprints import check_same_options
from bert_span.training.run.checkpoint_index import (
  complete_checkpoints,
  remove_unfinished,
  repair_index,
)

# As run_squad: Estimator's names, output_dir/model.ckpt-<step>.
CHECKPOINT_NAME = "model.ckpt"
OPTIONS_FILE = "training_options.json"
_OTHER_DIRECTORY = (
  "Use another --output_dir, or the model that the run was begun with."
)
# What reading raises when the storage does not answer or the memory is full.
# The checkpoint may be fine then. Any other error says that its files are cut
# short, changed or gone.
_NO_DAMAGE = (
  tf.errors.AbortedError,
  tf.errors.CancelledError,
  tf.errors.DeadlineExceededError,
  tf.errors.PermissionDeniedError,
  tf.errors.ResourceExhaustedError,
  tf.errors.UnauthenticatedError,
  tf.errors.UnavailableError,
)


class RunCheckpoints:
  """Saves and restores a run in output_dir/model.ckpt-<step>.

  A checkpoint holds the weights, the optimizer's variables, the number of
  steps made, the states of the model's random generators (dropout), which
  Keras does not count among the weights, and those of the callbacks.
  training_options.json beside the checkpoints holds all that must not change
  within a run.

  A checkpoint counts once the file "checkpoint" names it, which a save writes
  last: a process killed before that leaves the previous checkpoint.

  Args:
    model: built keras.Model.
    optimizer: keras optimizer, built.
    step: int64 tf.Variable, steps made.
    output_dir: folder, local or any path of tf.io.gfile; made when missing.
    options: dict of JSON values; a run with other values is not continued.
    max_to_keep: checkpoints that are kept, the latest.
    write_dir: folder that is written to, another one for all but the chief.
    states: dict from a name to a tf.train.experimental.PythonState.
    log: function of one str.
  """

  def __init__(
    self,
    model,
    optimizer,
    step,
    output_dir,
    options,
    max_to_keep,
    write_dir,
    states,
    log,
  ):
    self._output_dir = output_dir
    self._write_dir = write_dir
    self._log = log
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
    self._checkpoint = tf.train.Checkpoint(step=step, states=states, **values)
    repair_index(self._write_dir, CHECKPOINT_NAME, self._log)
    self._manager = tf.train.CheckpointManager(
      self._checkpoint,
      directory=self._write_dir,
      max_to_keep=max_to_keep,
      checkpoint_name=CHECKPOINT_NAME,
    )

  def save(self):
    """Writes a checkpoint; returns its path without the files' endings."""
    return self._manager.save(checkpoint_number=int(self._step))

  def restore_or_begin(self):
    """Restores the latest checkpoint, or writes the options of a new run.

    A damaged checkpoint is logged, and the one before it restored: the run
    makes the steps between them again.

    Returns:
      Path of the checkpoint; None when the run is new.

    Raises:
      ValueError: the checkpoint belongs to another model, to a run with other
        options or to another program, or all are damaged.
    """
    paths = complete_checkpoints(self._output_dir)
    if not paths:
      tf.io.gfile.makedirs(self._write_dir)
      write_json_atomically(
        tf.io.gfile.join(self._write_dir, OPTIONS_FILE), self._options
      )
      remove_unfinished(self._write_dir, CHECKPOINT_NAME)
      return None
    self._check_options(paths[0])
    remove_unfinished(self._write_dir, CHECKPOINT_NAME)
    for path in paths:
      damage = self._restore(path)
      if damage is None:
        return path
      self._log(f"The checkpoint {path} cannot be read ({damage}).")
    raise ValueError(
      f"No checkpoint in {self._output_dir} can be read, the latest is "
      f"{paths[0]}. Use another --output_dir, or empty this one to begin again."
    )

  def _restore(self, path):
    """Restores a checkpoint; returns the error if it is damaged."""
    try:
      self._check_shapes(path)
      status = self._checkpoint.restore(path)
      status.assert_existing_objects_matched()
    except _NO_DAMAGE:
      raise
    except (tf.errors.OpError, IndexError) as error:
      # TensorFlow's reader raises IndexError where a file ends too early.
      return " ".join(str(error).split())
    return None

  def _check_options(self, path):
    """Refuses a checkpoint of other options or another program."""
    if not tf.io.gfile.exists(self._options_path):
      raise ValueError(
        f"{path} is a checkpoint of another program: there is no "
        f"{OPTIONS_FILE} beside it. Use another --output_dir; to begin from "
        "the weights of that checkpoint, pass it as --init_checkpoint."
      )
    check_same_options(self._options_path, self._options)

  def _check_shapes(self, path):
    """Refuses a checkpoint of another model and names what differs."""
    saved = tf.train.load_checkpoint(path).get_variable_to_shape_map()
    expected = {
      f"{name}/{index}/.ATTRIBUTES/VARIABLE_VALUE": variable
      for name, variables in self._variables.items()
      for index, variable in enumerate(variables)
    }
    for key, variable in expected.items():
      if saved.get(key) != list(variable.shape):
        raise ValueError(
          f"The checkpoint {path} is of another model: {variable.path} has "
          f"shape {list(variable.shape)} here and "
          f"{saved.get(key, 'no counterpart')} there. {_OTHER_DIRECTORY}"
        )
    held = [key for key in saved if key.split("/")[0] in self._variables]
    if len(held) != len(expected):
      raise ValueError(
        f"The checkpoint {path} is of another model: it has {len(held)} "
        f"variables, this run has {len(expected)}. {_OTHER_DIRECTORY}"
      )


def random_states(model):
  """The states of a model's random generators, as a list of variables."""
  weights = {id(variable) for variable in model.weights}
  return [v for v in model.variables if id(v) not in weights]


def steps_made(output_dir):
  """Steps of the latest checkpoint in a folder; 0 where there is none."""
  latest = tf.train.latest_checkpoint(output_dir)
  return int(latest.rpartition("-")[2]) if latest else 0
