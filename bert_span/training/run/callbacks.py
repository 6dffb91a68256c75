"""What a training does between its steps, beside making them."""

import types


class Callback:
  """Something that the training loop asks between two steps.

  The loop enters every callback when it has restored the run, so that `state`
  is that of the checkpoint, and leaves it when the training ends, however it
  ends. In between, after every step it makes:

      if callback.is_due(step):
        callback.on_step(step)
      callback.agree()
      if callback.stop_reason:
        save a checkpoint, stop

  A step at which something is due when the run starts again, because it was
  killed there, is made up for before the next step is made.

  Attributes:
    name: of the state in checkpoints; no two callbacks of a run share one.
    state: tf.train.experimental.PythonState that belongs into the checkpoints,
      or None. All that decides what a callback does must follow from it and
      from the number of the step: a continued run then does the same.
    stop_reason: str, why the training should stop after the step at hand; None
      to go on.
    fingerprint: mapping of JSON values that must not change within a run.
  """

  name = ""
  state = None
  stop_reason = None
  fingerprint = types.MappingProxyType({})

  def __enter__(self):
    return self

  def __exit__(self, *unused_exception):
    return None

  def is_due(self, step):
    """Whether `on_step` is to be called at a step.

    Args:
      step: int, steps made; may lie ahead, for a loop that makes several at
        once and must stop at the right one.

    Returns:
      bool.
    """
    del step
    return False

  def on_step(self, step):
    """Acts; the steps so far are finished and their losses are finite.

    Args:
      step: int, steps made.
    """

  def agree(self):
    """Settles `stop_reason` with the other workers.

    All workers come here after the same steps. What follows from the steps
    alone, as everything that follows from `state`, is the same on all of them
    and needs no settling.
    """
