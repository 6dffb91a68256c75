"""A small training that kills itself at a chosen point of a chosen save.

  python killed_run.py OUTPUT_DIR POINT STEP

POINT is "writing", when a file of the checkpoint of step STEP is half
written; "unnamed", when they are written and the file "checkpoint" does not
name them yet; "deleting", when the files of an older one are half deleted.
"""

import glob
import os
import pathlib
import signal
import sys

from tensorflow.python.checkpoint import checkpoint_management
from tensorflow.python.ops import gen_io_ops as io_ops
from toy_trainer import dataset_fn, make_model, make_trainer


def make_run(output_dir):
  """Trainer and model that save every step and keep two checkpoints."""
  return make_trainer(
    pathlib.Path(output_dir),
    make_model(),
    save_checkpoints_steps=1,
    keep_checkpoint_max=2,
  )


def _kill():
  os.kill(os.getpid(), signal.SIGKILL)


def _kill_while_writing(output_dir, step):
  """Kills when the files are half written: they are renamed when complete."""
  pattern = os.path.join(output_dir, f"model.ckpt-{step}_temp", "*")
  original = io_ops.merge_v2_checkpoints

  def killing(*arguments, **keywords):
    for path in glob.glob(pattern):
      os.truncate(path, os.path.getsize(path) // 2)
      _kill()
    return original(*arguments, **keywords)

  io_ops.merge_v2_checkpoints = killing


def _kill_before(name, step, trainer, calls):
  """Kills before a function of the manager is called for the nth time."""
  original = getattr(checkpoint_management, name)
  made = []

  def killing(*arguments, **keywords):
    if trainer.step == step:
      made.append(arguments)
      if len(made) == calls:
        _kill()
    return original(*arguments, **keywords)

  setattr(checkpoint_management, name, killing)


def main(output_dir, point, step):
  trainer = make_run(output_dir)
  if point == "writing":
    _kill_while_writing(output_dir, step)
  elif point == "unnamed":
    _kill_before("update_checkpoint_state_internal", step, trainer, 1)
  elif point == "deleting":  # The .index is gone, the .data not yet.
    _kill_before("_delete_file_if_exists", step, trainer, 2)
  trainer.train(dataset_fn)


if __name__ == "__main__":
  main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
