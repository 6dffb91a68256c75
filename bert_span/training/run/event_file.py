"""TensorBoard event files, written without TensorBoard."""

import tensorflow as tf

# What tf.summary.scalar writes: it needs the tensorboard package, which
# TensorFlow no longer brings along; the format itself needs nothing.
_SCALAR = tf.compat.v1.SummaryMetadata(
  plugin_data=tf.compat.v1.SummaryMetadata.PluginData(plugin_name="scalars"),
)


class EventFile:
  """Writes scalars that `tensorboard --logdir` shows as curves.

  Example:
    with EventFile(output_dir + "/train") as events:
      events.write({"loss": 2.5}, step=100)

  Args:
    folder: local or any path of tf.io.gfile; made when missing.
  """

  def __init__(self, folder):
    self._writer = tf.summary.create_file_writer(str(folder))

  def __enter__(self):
    return self

  def __exit__(self, *unused_exception):
    self._writer.close()

  def write(self, scalars, step):
    """Writes numbers of one step.

    Args:
      scalars: dict from a curve's name to its value.
      step: int, steps made.
    """
    with self._writer.as_default():
      for name, value in scalars.items():
        tf.summary.write(
          name, tf.constant(value, tf.float32), step=step, metadata=_SCALAR
        )
    self._writer.flush()
