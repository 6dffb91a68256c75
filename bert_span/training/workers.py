"""The processes that train together, and what they must agree on."""

import atexit
import shutil
import tempfile

import tensorflow as tf


def num_workers(strategy):
  """Processes that train together; `strategy` may be None for one device."""
  if not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
    return 1
  cluster = strategy.cluster_resolver.cluster_spec().as_dict()
  return sum(map(len, cluster.values())) or 1


def is_chief(strategy):
  """Whether this process writes the model; strategy may be None."""
  return strategy is None or strategy.extended.should_checkpoint


def own_folder(strategy, output_dir):
  """The folder that this process writes to: output_dir for the chief.

  For another worker it is a new temporary folder, which is removed when the
  process ends.
  """
  if is_chief(strategy):
    return output_dir
  folder = tempfile.mkdtemp(prefix="bert_span_worker_")
  atexit.register(shutil.rmtree, folder, ignore_errors=True)
  return folder


def worker_vote(strategy):
  """Returns a function of a bool: whether it is true on any worker.

  All workers must call it together: each waits for the others.
  """
  if num_workers(strategy) == 1:
    return bool
  total = tf.function(lambda value: _sum(strategy, value))
  return lambda is_so: int(total(tf.constant(int(is_so)))) > 0


def check_same_step(strategy, step):
  """Refuses workers that have restored checkpoints of different steps."""
  if num_workers(strategy) == 1:
    return
  total = tf.function(lambda: _sum(strategy, tf.constant(step)))()
  if int(total) != step * strategy.num_replicas_in_sync:
    raise ValueError(
      f"This worker is at step {step}, another one is not: they do not see "
      "the same checkpoints. Give all workers the same --output_dir, on a file "
      "system that all of them share."
    )


def _sum(strategy, value):
  """The sum of an integer over all replicas."""

  def of_replica():
    context = tf.distribute.get_replica_context()
    # The sum must know the value's device. An argument has none.
    on_device = tf.identity(value)
    return context.all_reduce(tf.distribute.ReduceOp.SUM, on_device)

  return strategy.experimental_local_results(strategy.run(of_replica))[0]
