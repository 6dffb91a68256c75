"""What the workers of a training must agree on."""

import tensorflow as tf

from bert_span.training.devices.strategy import num_workers


class WorkerVote:
  """Asks all workers whether something is so on any of them.

  All must ask together: a worker that does not is waited for.

  Args:
    strategy: tf.distribute.Strategy, or None for one device.
  """

  def __init__(self, strategy):
    self._strategy = strategy
    self._is_alone = strategy is None or num_workers(strategy) == 1
    self._total = tf.function(self._sum)

  def __call__(self, is_so):
    """Gives whether `is_so`, a bool, is true on any worker."""
    if self._is_alone:
      return bool(is_so)
    return int(self._total(tf.constant(int(is_so)))) > 0

  def _sum(self, value):
    def of_replica():
      context = tf.distribute.get_replica_context()
      # A sum needs to know the device, which an argument has none of.
      on_device = tf.identity(value)
      return context.all_reduce(tf.distribute.ReduceOp.SUM, on_device)

    results = self._strategy.run(of_replica)
    return self._strategy.experimental_local_results(results)[0]


def check_same_step(strategy, step):
  """Refuses workers that stand at different steps.

  Args:
    strategy: tf.distribute.Strategy.
    step: int, steps that this worker has made.

  Raises:
    ValueError: they have not all restored the same checkpoint.
  """
  if num_workers(strategy) == 1:
    return

  def total():
    context = tf.distribute.get_replica_context()
    return context.all_reduce(tf.distribute.ReduceOp.SUM, tf.constant(step))

  results = strategy.experimental_local_results(
    tf.function(lambda: strategy.run(total))()
  )
  if int(results[0]) != step * strategy.num_replicas_in_sync:
    raise ValueError(
      f"This worker stands at step {step}, another one does not: they do not "
      "see the same checkpoints. Give all workers the same --output_dir, on a "
      "file system that all of them share."
    )
