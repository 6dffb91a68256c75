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
  """output_dir for the chief, a temporary folder for any other process."""
  if is_chief(strategy):
    return output_dir
  folder = tempfile.mkdtemp(prefix="bert_span_worker_")
  atexit.register(shutil.rmtree, folder, ignore_errors=True)
  return folder


def worker_vote(strategy):
  """A function of a bool, called by all workers: is it true on any of them?"""
  if num_workers(strategy) == 1:
    return bool
  total = _sum_over_replicas(strategy)
  return lambda is_so: total(int(is_so)) > 0


def check_same_step(strategy, step):
  """Refuses workers that have restored checkpoints of different steps."""
  if num_workers(strategy) == 1:
    return
  total = _sum_over_replicas(strategy)(step)
  if total != step * strategy.num_replicas_in_sync:
    raise ValueError(
      f"This worker is at step {step}, another one is not: they do not see "
      "the same checkpoints. Give all workers the same --output_dir, on a file "
      "system that all of them share."
    )


def _sum_over_replicas(strategy):
  """A function of an integer: its sum over all replicas."""

  @tf.function
  def total(value):
    def of_replica():
      context = tf.distribute.get_replica_context()
      # The sum must know the value's device. An argument has none.
      on_device = tf.identity(value)
      return context.all_reduce(tf.distribute.ReduceOp.SUM, on_device)

    return strategy.experimental_local_results(strategy.run(of_replica))[0]

  return lambda value: int(total(tf.constant(value)))
