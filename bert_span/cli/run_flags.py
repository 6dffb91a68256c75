"""The flags of a run, written so that it can be repeated."""

import os

import tensorflow as tf

from bert_span.storage.atomic_file import write_text_atomically

_FLAGS_FILE = "run.flags"


def write_run_flags(output_dir, flag_values):
  """Writes output_dir/run.flags, which repeats the run as --flagfile."""
  tf.io.gfile.makedirs(output_dir)
  write_text_atomically(
    os.path.join(output_dir, _FLAGS_FILE), flag_values.flags_into_string()
  )


def flag_lines(flag_values, without):
  """The flags of a command, to compare it with another one.

  Args:
    flag_values: absl's FLAGS.
    without: names of flags that are left out.

  Returns:
    List of str such as "--learning_rate=5e-05".
  """
  left_out = tuple(f"--{name}=" for name in without)
  lines = flag_values.flags_into_string().splitlines()
  return [line for line in lines if not line.startswith(left_out)]
