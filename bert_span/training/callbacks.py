"""What a training does between its steps."""

import types


class Callback:
  """Something that the training loop calls between two steps.

  The loop enters every callback when it has restored the run, so that `state`
  is that of the checkpoint, and leaves it when the training ends, in any way.
  In between, after every step:

      if callback.is_due(step):
        callback.on_step(step)
      callback.agree()
      if callback.stop_reason:
        save a checkpoint, stop

  What was due at the last step of a killed run is done when the run starts
  again, before the next step.

  Attributes:
    name: of the state in checkpoints; no two callbacks of a run share one.
    state: tf.train.experimental.PythonState that is saved in checkpoints, or
      None. All that decides what a callback does must follow from it and from
      the number of the step: a continued run then does the same.
    stop_reason: str, why the training should stop after this step, or None.
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
    """Whether `on_step` is called at a step, which may be in the future."""
    del step
    return False

  def on_step(self, step):
    """Acts after a step; all losses so far are finite."""

  def agree(self):
    """Makes `stop_reason` the same on all workers.

    All workers call this after the same steps. What follows from the steps and
    `state` alone is the same on all of them and needs no agreement.
    """
