"""TensorBoard event files, written without TensorBoard."""

import contextlib

import tensorflow as tf

# What tf.summary.scalar writes. It needs the tensorboard package, which
# TensorFlow no longer installs. The format itself needs nothing.
_SCALAR = tf.compat.v1.SummaryMetadata(
  plugin_data=tf.compat.v1.SummaryMetadata.PluginData(plugin_name="scalars"),
)


class EventFile(contextlib.AbstractContextManager):
  """Writes scalars that `tensorboard --logdir` shows as curves."""

  def __init__(self, folder):
    self._writer = tf.summary.create_file_writer(str(folder))

  def write(self, scalars, step):
    """Writes a dict from a curve's name to its value at a step."""
    with self._writer.as_default():
      for name, value in scalars.items():
        tf.summary.write(
          name, tf.constant(value, tf.float32), step=step, metadata=_SCALAR
        )
    self._writer.flush()

  def __exit__(self, *unused_exception):
    self.close()

  def close(self):
    """Closes the file."""
    self._writer.close()
