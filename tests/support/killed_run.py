"""A small training that kills itself at a chosen point of a chosen save.

  python killed_run.py OUTPUT_DIR POINT STEP

POINT is "writing", when a file of the checkpoint of step STEP is half
written; "unnamed", when they are written and the file "checkpoint" does not
name them yet; "deleting", when the files of an older one are half deleted.
"""

import itertools
import os
import pathlib
import signal
import sys

from tensorflow.python.checkpoint import checkpoint_management
from tensorflow.python.ops import gen_io_ops
from toy_trainer import dataset_fn, make_model, make_trainer


def make_run(output_dir):
  """Trainer and model that save every step and keep two checkpoints."""
  return make_trainer(
    pathlib.Path(output_dir),
    make_model(),
    save_checkpoints_steps=1,
    keep_checkpoint_max=2,
  )


def _kill_before(owner, name, is_time):
  """Kills this process before a call of a function when it is time."""
  original = getattr(owner, name)

  def killing(*arguments, **keywords):
    if is_time():
      os.kill(os.getpid(), signal.SIGKILL)
    return original(*arguments, **keywords)

  setattr(owner, name, killing)


def main(output_dir, point, step):
  trainer = make_run(output_dir)
  deletions = itertools.count(1)

  def is_half_written():  # The files are renamed when they are complete.
    folder = pathlib.Path(output_dir, f"model.ckpt-{step}_temp")
    for path in folder.glob("*"):
      os.truncate(path, path.stat().st_size // 2)
      return True

  def is_step():
    return trainer.step == step

  def is_half_deleted():  # The .index is gone, the .data not yet.
    return is_step() and next(deletions) == 2

  management = checkpoint_management
  points = {
    "writing": (gen_io_ops, "merge_v2_checkpoints", is_half_written),
    "unnamed": (management, "update_checkpoint_state_internal", is_step),
    "deleting": (management, "_delete_file_if_exists", is_half_deleted),
  }
  _kill_before(*points[point])
  trainer.train(dataset_fn)


if __name__ == "__main__":
  main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
