"""Checkpoints from which a run continues exactly where it stopped."""

import contextlib
import dataclasses
import json
import os
import re

import keras
import tensorflow as tf

from bert_span.options.fields import check_same_options
from bert_span.storage.atomic_file import write_json_atomically
from bert_span.storage.log import log_line
from bert_span.training.strategy import is_chief, own_folder

# As run_squad: Estimator's names, output_dir/model.ckpt-<step>.
CHECKPOINT_NAME = "model.ckpt"
_OPTIONS_KEY = "options/.ATTRIBUTES/py_state"
# Raised when the storage does not answer or the memory is full; any other error
# says that the checkpoint's files are cut short, changed or gone.
_NO_DAMAGE = (
  tf.errors.AbortedError,
  tf.errors.CancelledError,
  tf.errors.DeadlineExceededError,
  tf.errors.PermissionDeniedError,
  tf.errors.ResourceExhaustedError,
  tf.errors.UnauthenticatedError,
  tf.errors.UnavailableError,
)


class JsonState(tf.train.experimental.PythonState):
  """A JSON value that checkpoints hold."""

  def __init__(self, value):
    self.value = value

  def serialize(self):
    return json.dumps(self.value).encode("utf-8")

  def deserialize(self, string_value):
    self.value = json.loads(string_value)


@dataclasses.dataclass(eq=False)
class RunCheckpoints:
  """Saves and restores a run in output_dir/model.ckpt-<step>.

  A checkpoint holds weights, optimizer, number of steps, random generators, the
  callbacks' states and the options. It counts once the file "checkpoint" names
  it, which a save writes last.
  """

  model: keras.Model
  optimizer: keras.optimizers.Optimizer  # built
  step: tf.Variable  # int64, steps made
  output_dir: str  # made when missing
  options: dict  # JSON values; a run with other values is not continued
  max_to_keep: int  # number of latest checkpoints that are kept
  # All workers save, those other than the chief to a temporary folder.
  strategy: tf.distribute.Strategy
  states: dict  # name -> tf.train.experimental.PythonState

  def __post_init__(self):
    self.write_dir = own_folder(self.strategy, self.output_dir)
    self.options = json.loads(json.dumps(self.options))  # tuples become lists
    # Lists and not the objects, which may not track all of their variables and
    # whose names depend on how often Keras has used a name in this process.
    self._variables = {
      "weights": list(self.model.weights),
      "optimizer": list(self.optimizer.variables),
      "rng": random_states(self.model),
    }
    tracked = {
      name: [variable.value for variable in variables]
      for name, variables in self._variables.items()
    }
    self._checkpoint = tf.train.Checkpoint(
      step=self.step,
      states=self.states,
      options=JsonState(self.options),
      **tracked,
    )
    _repair_index(self.write_dir)
    self._manager = tf.train.CheckpointManager(
      self._checkpoint,
      directory=self.write_dir,
      max_to_keep=self.max_to_keep if is_chief(self.strategy) else 1,
      checkpoint_name=CHECKPOINT_NAME,
    )

  def save(self):
    """Writes a checkpoint; returns its path without the files' endings."""
    return self._manager.save(checkpoint_number=int(self.step))

  def restore_or_begin(self):
    """Restores the latest undamaged checkpoint: its path, None for a new run.

    A ValueError refuses a checkpoint of another model, run or program.
    """
    state = tf.train.get_checkpoint_state(self.output_dir)
    paths = state.all_model_checkpoint_paths if state else []
    # Sort by step: after a damaged checkpoint, earlier steps are saved later.
    paths = sorted(paths, key=_step_of, reverse=True)
    restored = next(filter(self._restore, paths), None)
    if not paths:
      tf.io.gfile.makedirs(self.write_dir)
      path = tf.io.gfile.join(self.write_dir, "training_options.json")
      write_json_atomically(path, self.options)
    elif not restored:
      raise ValueError(
        f"No checkpoint in {self.output_dir} can be read. Use another "
        "--output_dir, or empty this one to begin again."
      )
    # The temporary folders of processes that were killed in a save.
    for name in _names_in(self.write_dir, r"-\d+_temp/?"):
      with contextlib.suppress(tf.errors.NotFoundError):  # another worker did
        tf.io.gfile.rmtree(tf.io.gfile.join(self.write_dir, name))
    return restored

  def _restore(self, path):
    """Returns whether a checkpoint could be restored; False: it is damaged."""
    try:
      reader = tf.train.load_checkpoint(path)
      if not reader.has_tensor(_OPTIONS_KEY):
        raise ValueError(
          f"{path} is a checkpoint of another program. Use another "
          "--output_dir; to begin with its weights, pass it as "
          "--init_checkpoint."
        )
      saved = json.loads(reader.get_tensor(_OPTIONS_KEY))
      check_same_options(path, saved, self.options)
      self._check_shapes(path, reader.get_variable_to_shape_map())
      self._checkpoint.restore(path)
    except _NO_DAMAGE:
      raise
    # TensorFlow's reader raises IndexError where a file ends too early.
    except (tf.errors.OpError, IndexError) as error:
      damage = " ".join(str(error).split())
      log_line(f"The checkpoint {path} cannot be read ({damage}).")
      return False
    return True

  def _check_shapes(self, path, saved):
    """Refuses a checkpoint of another model and names what differs."""
    expected = {
      f"{name}/{index}/.ATTRIBUTES/VARIABLE_VALUE": (v.path, list(v.shape))
      for name, variables in self._variables.items()
      for index, v in enumerate(variables)
    }
    held = [key for key in saved if key.split("/")[0] in self._variables]
    for key in (*expected, *held):
      variable, here = expected.get(key, (key, None))
      if here != saved.get(key):
        raise ValueError(
          f"The checkpoint {path} is of another model: {variable} has shape "
          f"{here} here and {saved.get(key)} there. Use another --output_dir, "
          "or the model that the run was begun with."
        )


def random_states(model):
  """Variables of [seed, draws made], one of each random generator."""
  return [v for v in model.variables if v.name == "seed_generator_state"]


def steps_made(output_dir):
  """Steps of the latest checkpoint in a folder; 0 where there is none."""
  latest = tf.train.latest_checkpoint(output_dir)
  return _step_of(latest) if latest else 0


def _repair_index(output_dir):
  """Writes a damaged file "checkpoint" anew, with all that have an index."""
  path = tf.io.gfile.join(output_dir, "checkpoint")
  if not tf.io.gfile.exists(path):
    return
  state = None
  with contextlib.suppress(ValueError):
    state = tf.train.get_checkpoint_state(output_dir)
  if state is not None:
    # Old checkpoints are deleted by their names.
    for checkpoint in state.all_model_checkpoint_paths:
      folder = os.path.dirname(os.path.abspath(checkpoint))
      if folder != os.path.abspath(output_dir):
        raise ValueError(
          f"{path} names {checkpoint}, a checkpoint outside of its folder. Use "
          "another --output_dir."
        )
    return
  names = _names_in(output_dir, r"-\d+\.index")
  checkpoints = sorted((n.removesuffix(".index") for n in names), key=_step_of)
  if not checkpoints:
    tf.io.gfile.remove(path)
    return
  log_line(f"{path} was damaged; now it names {len(checkpoints)} checkpoints.")
  tf.compat.v1.train.update_checkpoint_state(
    output_dir,
    checkpoints[-1],
    all_model_checkpoint_paths=checkpoints,
    # CheckpointManager forgets a checkpoint without a time, in seconds.
    all_model_checkpoint_timestamps=range(1, len(checkpoints) + 1),
  )


def _names_in(folder, ending):
  pattern = re.compile(re.escape(CHECKPOINT_NAME) + ending)
  return filter(pattern.fullmatch, tf.io.gfile.listdir(folder))


def _step_of(path):
  """Returns the step in a checkpoint's name; -1 if there is none."""
  number = path.rpartition("-")[2]
  return int(number) if number.isdecimal() else -1
