"""Checkpoints from which a run continues exactly where it stopped."""

import contextlib
import dataclasses
import json
import os
import re

import keras
import tensorflow as tf

from bert_span.options.fields import RUN_FORMAT, check_same_options
from bert_span.storage.atomic_file import (
  write_json_atomically,
  write_text_atomically,
)
from bert_span.storage.files import (
  is_remote,
  literal_checkpoint,
  make_folder,
)
from bert_span.storage.log import log_line
from bert_span.training.strategy import is_chief, worker_folder

# As run_squad: Estimator's names, output_dir/model.ckpt-<step>.
CHECKPOINT_NAME = "model.ckpt"
_LIST = "checkpoint"
_OPTIONS_KEY = "options/.ATTRIBUTES/py_state"
# Errors of a storage that does not answer, or of full memory. All others mean
# that the checkpoint's files are cut short, changed or gone.
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
  """A JSON value that is saved in checkpoints."""

  def __init__(self, value):
    self.value = value

  def serialize(self):
    return json.dumps(self.value).encode("utf-8")

  def deserialize(self, string_value):
    self.value = json.loads(string_value)


@dataclasses.dataclass(eq=False)
class RunCheckpoints:
  """Saves and restores a run in output_dir/model.ckpt-<step>.

  A checkpoint has weights, optimizer, number of steps, random generators, the
  callbacks' states and the options. It is valid once the file "checkpoint",
  which is written last, names it. These names have no folders, so that the
  folder can be moved.
  """

  model: keras.Model
  optimizer: keras.optimizers.Optimizer  # built
  step: tf.Variable  # int64, steps made
  output_dir: str  # made if it does not exist
  options: dict  # JSON values; a run with other values is not continued
  max_to_keep: int  # number of latest checkpoints that are kept
  # All workers save; all but the chief save to a temporary folder.
  strategy: tf.distribute.Strategy
  states: dict  # name -> tf.train.experimental.PythonState

  def __post_init__(self):
    self.write_dir = worker_folder(self.strategy, self.output_dir)
    options = {"format": RUN_FORMAT, **self.options}
    self.options = json.loads(json.dumps(options))  # tuples become lists
    # Lists and not objects: an object may not track all of its variables, and
    # its names depend on how often Keras has used a name in this process.
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
    self._names = []  # in the order in which they were saved

  def save(self):
    """Writes a checkpoint; returns its path without the files' endings."""
    name = f"{CHECKPOINT_NAME}-{int(self.step)}"
    path = tf.io.gfile.join(self.write_dir, name)
    # A CheckpointManager would delete by patterns that contain output_dir.
    self._checkpoint.write(path)
    keep = self.max_to_keep if is_chief(self.strategy) else 1
    names = [n for n in self._names if n != name] + [name]
    self._names = names[-keep:]
    _write_list(self.write_dir, self._names)
    ours = re.compile(r"(model\.ckpt-\d+)\.(index|data-\d{5}-of-\d{5})")
    # The .index first: a killed save may have left a .data without it.
    files = sorted(tf.io.gfile.listdir(self.write_dir), reverse=True)
    for file in files:
      match = ours.fullmatch(file)
      name = match and match.group(1)
      if name and (name in names[:-keep] or f"{name}.index" not in files):
        tf.io.gfile.remove(tf.io.gfile.join(self.write_dir, file))
    return path

  def restore_or_begin(self):
    """Restores the latest intact checkpoint; returns its path or None.

    Raises ValueError for a checkpoint of another model, run or program.
    """
    names = checkpoint_names(self.output_dir)
    if self.write_dir == self.output_dir:
      self._names = names
    # By step: after a damaged checkpoint, earlier steps are saved again.
    names = sorted(names, key=_step_of, reverse=True)
    paths = [tf.io.gfile.join(self.output_dir, name) for name in names]
    restored = next(filter(self._restore, paths), None)
    has_list = tf.io.gfile.exists(tf.io.gfile.join(self.output_dir, _LIST))
    if restored:
      pass
    elif paths and has_list:
      raise ValueError(
        f"No checkpoint in {self.output_dir} can be read. Copy them there "
        "again, or begin again in another output_dir."
      )
    else:  # Files without a list are from a first save that was killed.
      make_folder(self.write_dir)
      path = tf.io.gfile.join(self.write_dir, "training_options.json")
      write_json_atomically(path, self.options)
    self._remove_unfinished()
    return restored

  def _remove_unfinished(self):
    """Removes the temporary folders of processes killed in a save."""
    for name in _names_in(self.write_dir, r"-\d+_temp/?"):
      folder = tf.io.gfile.join(self.write_dir, name.rstrip("/"))
      if not is_remote(folder) and os.path.islink(folder):
        continue
      with contextlib.suppress(tf.errors.NotFoundError):  # by another worker
        if all(n.startswith("part-") for n in tf.io.gfile.listdir(folder)):
          tf.io.gfile.rmtree(folder)

  def _restore(self, path):
    """Restores a checkpoint; returns False if it is damaged."""
    try:
      readable = literal_checkpoint(path)
      reader = tf.train.load_checkpoint(readable)
      if not reader.has_tensor(_OPTIONS_KEY):
        raise ValueError(
          f"{path} is a checkpoint of another program. Use another "
          "output_dir; to begin with its weights, pass it as init_checkpoint."
        )
      saved = json.loads(reader.get_tensor(_OPTIONS_KEY))
      check_same_options(path, saved, self.options)
      self._check_shapes(path, reader.get_variable_to_shape_map())
      self._checkpoint.restore(readable)
    except _NO_DAMAGE:
      raise
    # TensorFlow's reader raises IndexError if a file ends too early.
    except (tf.errors.OpError, IndexError) as error:
      damage = " ".join(str(error).split())
      log_line(f"The checkpoint {path} cannot be read ({damage}).")
      return False
    return True

  def _check_shapes(self, path, saved):
    """Refuses a checkpoint of another model and names the difference."""
    expected = {
      f"{name}/{index}/.ATTRIBUTES/VARIABLE_VALUE": (v.path, list(v.shape))
      for name, variables in self._variables.items()
      for index, v in enumerate(variables)
    }
    keys = [key for key in saved if key.split("/")[0] in self._variables]
    for key in (*expected, *keys):
      variable, here = expected.get(key, (key, None))
      if here != saved.get(key):
        raise ValueError(
          f"The checkpoint {path} is of another model: {variable} has shape "
          f"{here} here and {saved.get(key)} there. Use another output_dir, or "
          "the model that the run was begun with."
        )


def random_states(model):
  """Returns a variable [seed, draws made] for each random generator."""
  return [v for v in model.variables if v.name == "seed_generator_state"]


def steps_made(output_dir):
  """Returns the steps of the latest checkpoint in a folder; 0 without one."""
  return max(map(_step_of, checkpoint_names(output_dir)), default=0)


def checkpoint_names(output_dir):
  """Lists a run's checkpoints in the order in which they were saved.

  The file "checkpoint" names them. If it is missing or damaged, they are all
  that have an index, by their steps.
  """
  if not tf.io.gfile.isdir(output_dir):
    return []
  path = tf.io.gfile.join(output_dir, _LIST)
  indexes = _names_in(output_dir, r"-\d+\.index")
  indexed = [name.removesuffix(".index") for name in indexes]
  state = None
  with contextlib.suppress(ValueError):
    state = tf.train.get_checkpoint_state(output_dir)
  paths = list(state.all_model_checkpoint_paths) if state else []
  names = list(map(os.path.basename, paths))
  is_whole = state and paths[-1:] == [state.model_checkpoint_path]
  if not is_whole or (indexed and not {*indexed} & {*names}):
    if indexed and tf.io.gfile.exists(path):
      log_line(f"{path} is damaged: all {len(indexed)} checkpoints are used.")
    return sorted(indexed, key=_step_of)
  for checkpoint, name in zip(paths, names, strict=True):
    folder = os.path.dirname(os.path.abspath(checkpoint))
    # After a move of the folder, its paths count as paths of this folder.
    if name not in indexed and folder != os.path.abspath(output_dir):
      raise ValueError(
        f"{path} names {checkpoint}, a checkpoint outside of its folder. Use "
        "another output_dir."
      )
  return names


def _write_list(output_dir, names):
  """Writes the file "checkpoint" in TensorFlow's format."""
  lines = [f'model_checkpoint_path: "{names[-1]}"']
  lines += [f'all_model_checkpoint_paths: "{name}"' for name in names]
  path = tf.io.gfile.join(output_dir, _LIST)
  write_text_atomically(path, "\n".join([*lines, ""]))


def _names_in(folder, ending):
  pattern = re.compile(re.escape(CHECKPOINT_NAME) + ending)
  return filter(pattern.fullmatch, tf.io.gfile.listdir(folder))


def _step_of(path):
  """Returns the step in a checkpoint's name; -1 if there is none."""
  number = path.rpartition("-")[2]
  return int(number) if number.isdecimal() else -1
