"""The bytes of a file, on the local disk or elsewhere."""


def read_bytes(path):
  """Reads a whole file.

  A plain path is read without loading TensorFlow, so that small programs start
  at once; a path with a scheme (gs://, hdfs://, file://) goes through
  tf.io.gfile.

  Args:
    path: str.

  Returns:
    bytes.

  Raises:
    OSError: the file cannot be read.
  """
  if "://" not in path:
    with open(path, "rb") as file:
      return file.read()
  import tensorflow as tf  # Seconds: only where plain files do not do.

  try:
    with tf.io.gfile.GFile(path, "rb") as file:
      return file.read()
  except tf.errors.OpError as error:
    raise OSError(f"{path}: cannot be read: {error.message}") from error
