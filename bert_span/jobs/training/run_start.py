"""What every training begins with: its devices, and run.flags."""

import os

import tensorflow as tf

from bert_span.storage.atomic_file import write_text_atomically
from bert_span.storage.log import log_line
from bert_span.training.devices import strategy as strategies

_FLAGS_FILE = "run.flags"


def start_strategy(devices, options):
  """Makes the strategy of a training, before TensorFlow has run anything.

  Args:
    devices: `StrategyOptions`.
    options: of the training, with execution and train_batch_size.

  Returns:
    A tf.distribute.Strategy.
  """
  strategy = strategies.make_strategy(devices, options.execution)
  batch_size = options.train_batch_size
  share = -(-batch_size // strategy.num_replicas_in_sync)  # rounded up
  log_line(
    f"Training on {strategies.describe_strategy(strategy)}, {share} of a "
    f"batch's {batch_size} on each."
  )
  return strategy


def write_run_flags(output_dir, run_flags):
  """Writes output_dir/run.flags, which repeats the run as --flagfile."""
  tf.io.gfile.makedirs(output_dir)
  write_text_atomically(os.path.join(output_dir, _FLAGS_FILE), run_flags)
