"""The file "checkpoint", which names the complete checkpoints of a run."""

import contextlib
import os
import re

import tensorflow as tf

from bert_span.storage.atomic_file import write_text_atomically

_INDEX_FILE = "checkpoint"


def complete_checkpoints(output_dir):
  """Lists the checkpoints of a run, the latest step first.

  Not by the time they were saved: after a damaged one was passed over, the
  steps before it are saved anew.

  Args:
    output_dir: folder of the run, local or any path of tf.io.gfile.

  Returns:
    List of paths such as "run/model.ckpt-1000".
  """
  state = tf.train.get_checkpoint_state(output_dir)
  if state is None:
    return []
  return sorted(state.all_model_checkpoint_paths, key=_step_of, reverse=True)


def repair_index(output_dir, checkpoint_name, log):
  """Writes the file "checkpoint" anew if a power cut has spoiled it.

  Without it the checkpoints would not be found, and hours of training be
  begun again. The new one names all checkpoints whose files are there; one
  that was not complete turns out to be unreadable, as a damaged one.

  Args:
    output_dir: folder of the run, local or any path of tf.io.gfile.
    checkpoint_name: what the checkpoints' names begin with.
    log: function of one str.
  """
  path = tf.io.gfile.join(output_dir, _INDEX_FILE)
  if not tf.io.gfile.exists(path) or _is_readable(output_dir):
    return
  found = _checkpoints_with_files(output_dir, checkpoint_name)
  if not found:
    tf.io.gfile.remove(path)
    return
  log(f"{path} is damaged; it is written anew, with {len(found)} checkpoints.")
  lines = [f'model_checkpoint_path: "{found[-1]}"']
  for number, name in enumerate(found, start=1):
    lines.append(f'all_model_checkpoint_paths: "{name}"')
    # CheckpointManager forgets a checkpoint without a time, in seconds.
    lines.append(f"all_model_checkpoint_timestamps: {number}.0")
  write_text_atomically(path, "\n".join(lines) + "\n")


def remove_unfinished(output_dir, checkpoint_name):
  """Removes what processes that were killed while saving have left.

  A checkpoint's files are written in a folder of their own and then renamed;
  without this every such kill would keep its size on the disk.

  Args:
    output_dir: folder of the run, local or any path of tf.io.gfile.
    checkpoint_name: what the checkpoints' names begin with.
  """
  pattern = re.compile(re.escape(checkpoint_name) + r"-\d+_temp/?")
  for name in tf.io.gfile.listdir(output_dir):
    if pattern.fullmatch(name):
      with contextlib.suppress(tf.errors.NotFoundError):  # another worker did
        tf.io.gfile.rmtree(tf.io.gfile.join(output_dir, name))


def _checkpoints_with_files(output_dir, checkpoint_name):
  """Names of the checkpoints in a folder, the latest step last."""
  pattern = re.compile(re.escape(checkpoint_name) + r"-\d+\.index")
  names = tf.io.gfile.listdir(output_dir)
  found = [os.path.splitext(n)[0] for n in names if pattern.fullmatch(n)]
  return sorted(found, key=_step_of)


def _is_readable(output_dir):
  try:
    return tf.train.get_checkpoint_state(output_dir) is not None
  except ValueError:
    return False


def _step_of(path):
  """The step in a checkpoint's name; -1 for a name of another program."""
  number = path.rpartition("-")[2]
  return int(number) if number.isdecimal() else -1
