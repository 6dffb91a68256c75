"""The file "checkpoint", which names the complete checkpoints of a run."""

import contextlib
import os
import re

import tensorflow as tf


def complete_checkpoints(output_dir):
  """Paths such as "run/model.ckpt-1000", the latest step first.

  They are not ordered by time: after a damaged checkpoint was skipped, the
  steps before it are saved anew.
  """
  state = tf.train.get_checkpoint_state(output_dir)
  if state is None:
    return []
  return sorted(state.all_model_checkpoint_paths, key=_step_of, reverse=True)


def repair_index(output_dir, checkpoint_name, log):
  """Writes the file "checkpoint" anew if a power cut has damaged it.

  Without it the checkpoints would not be found, and hours of training would be
  repeated. The new file names all checkpoints that have an index file; an
  incomplete one among them is later skipped as damaged. Names of checkpoints
  begin with `checkpoint_name`.
  """
  path = tf.io.gfile.join(output_dir, "checkpoint")
  if not tf.io.gfile.exists(path):
    return
  with contextlib.suppress(ValueError):
    if tf.train.get_checkpoint_state(output_dir) is not None:
      return
  pattern = re.compile(re.escape(checkpoint_name) + r"-\d+\.index")
  names = filter(pattern.fullmatch, tf.io.gfile.listdir(output_dir))
  found = sorted((os.path.splitext(name)[0] for name in names), key=_step_of)
  if not found:
    tf.io.gfile.remove(path)
    return
  log(f"{path} is damaged; it is written anew, with {len(found)} checkpoints.")
  tf.compat.v1.train.update_checkpoint_state(
    output_dir,
    found[-1],
    all_model_checkpoint_paths=found,
    # CheckpointManager forgets a checkpoint without a time, in seconds.
    all_model_checkpoint_timestamps=range(1, len(found) + 1),
  )


def remove_unfinished(output_dir, checkpoint_name):
  """Removes the files of processes that were killed while saving.

  A checkpoint is written to a temporary folder, which such a kill leaves.
  """
  pattern = re.compile(re.escape(checkpoint_name) + r"-\d+_temp/?")
  for name in tf.io.gfile.listdir(output_dir):
    if pattern.fullmatch(name):
      with contextlib.suppress(tf.errors.NotFoundError):  # another worker did
        tf.io.gfile.rmtree(tf.io.gfile.join(output_dir, name))


def _step_of(path):
  """The step in a checkpoint's name; -1 for a name of another program."""
  number = path.rpartition("-")[2]
  return int(number) if number.isdecimal() else -1
