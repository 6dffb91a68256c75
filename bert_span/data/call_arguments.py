"""What a preprocessor is called with: lists, arrays, tensors or their specs.

A dataset is checked before it is read: instead of values it has specs, which
are returned as they are.
"""

import numbers

import numpy as np
import tensorflow as tf

from bert_span.keras_backend import check_not_forked
from bert_span.options.messages import shortened
from bert_span.squad.example import check_text
from bert_span.storage.files import encodable


def named_items(argument, values, names):
  """Returns the named items of a dict; ValueError if one is missing."""
  if not isinstance(values, dict) or not values.keys() >= {*names}:
    raise ValueError(
      f"{argument} must be a dict of {' and '.join(names)}. Received: "
      f"{type_description(values)}."
    )
  return {name: values[name] for name in names}


def type_description(values):
  """Returns the type of a value, for a dict with its keys."""
  if isinstance(values, dict):
    return f"a dict of {', '.join(map(str, values)) or 'nothing'}"
  return type(values).__name__


def text_array(texts, name="texts"):
  """Returns a list of str, or of UTF-8 bytes, as an array of bytes."""
  check_not_forked()
  check_list(texts, name, "str")
  encoded = []
  for i, text in enumerate(texts):
    if not isinstance(text, bytes):
      check_text(text, f"{name}[{i}]")
      text = encodable(text).encode("utf-8")
    encoded.append(text)
  # dtype=object: NumPy's own string type would cut trailing zero bytes.
  return np.array(encoded, object)


def text_tensor(texts, name="texts"):
  """Returns a list of str, or a tensor, as a string tensor [batch]."""
  if not is_tensor(texts):
    return tf.constant(text_array(texts, name), tf.string)
  check_tensor(texts, name, texts.dtype == tf.string, "strings", 1)
  return texts


def integer_list(values, name):
  """Returns integers of any type as a list of int."""
  check_list(values, name, "int")
  integers = []
  for i, value in enumerate(values):
    is_int = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not is_int or abs(int(value)) >= 1 << 63:
      raise ValueError(
        f"{name}[{i}] must be an int. Received: {shortened(value)}."
      )
    integers.append(int(value))
  return integers


def integer_tensor(values, name):
  """Returns a list of int, or a tensor, as an int64 tensor [batch]."""
  if not is_tensor(values):
    return tf.constant(integer_list(values, name), tf.int64)
  check_tensor(values, name, values.dtype.is_integer, "integers", 1)
  return values if is_spec(values) else tf.cast(values, tf.int64)


def weight_tensor(values, name):
  """Returns a list of numbers, or a tensor, as a float32 tensor [batch]."""
  if not is_tensor(values):
    try:
      values = tf.constant(np.asarray(values, np.float32))
    except (TypeError, ValueError):
      raise ValueError(
        f"{name} must be a list of float. Received: {shortened(values)}."
      ) from None
  has_type = values.dtype.is_floating or values.dtype.is_integer
  check_tensor(values, name, has_type, "numbers", 1)
  return values if is_spec(values) else tf.cast(values, tf.float32)


def check_list(values, name, contents):
  """Raises ValueError unless values are a list, an array or a column.

  `contents` says in the message what the list must have.
  """
  if isinstance(values, str | bytes | dict) or not np.iterable(values):
    raise ValueError(
      f"{name} must be a list of {contents}. Received: {shortened(values)}."
    )


def is_tensor(values):
  """Returns whether values are a tensor, or the spec of one."""
  return tf.is_tensor(values) or is_spec(values)


def is_spec(values):
  return isinstance(values, tf.TensorSpec | tf.RaggedTensorSpec)


def check_tensor(values, name, has_type, type_name, rank):
  """Raises ValueError unless a tensor or spec has the type and the rank.

  `has_type` says whether it has the type that `type_name` names.
  """
  shape = values.shape
  if has_type and shape.rank == rank:
    return
  remedy = ""
  if has_type and shape.rank == rank - 1:
    remedy = " Batch the dataset: dataset.batch(32)."
  elif has_type and shape.rank is None:
    remedy = " Give from_generator an output_signature."
  raise ValueError(
    f"{name} must be {type_name} of rank {rank}, with one item for each "
    f"question. Received: {values.dtype.name} of the shape {shape}.{remedy}"
  )


def eager_values(tensor):
  """Returns an eager tensor as an array, a ragged one as lists."""
  if isinstance(tensor, tf.RaggedTensor):
    return tensor.to_list()
  return tensor.numpy()


def decode_text(text, location):
  """Returns UTF-8 bytes as a str; `location` names them in the error."""
  try:
    return text.decode("utf-8")
  except UnicodeDecodeError:
    raise ValueError(
      f"{location}: {shortened(text)} is not UTF-8. Give a str."
    ) from None
