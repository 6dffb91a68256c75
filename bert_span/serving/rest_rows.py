"""TensorFlow Serving's REST format: JSON to tensors of a signature and back."""

import base64

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import types_pb2

from bert_span.serving.signatures import SERVING_DEFAULT
from bert_span.storage.utf8 import encodable


def predict(functions, request):
  """Answers the body of a :predict request.

  Rows, {"instances": [{"question": .., "context": ..}]}, give
  {"predictions": [..]}; columns, {"inputs": {..}}, give {"outputs": ..}.

  Args:
    functions: dict of signature to tf.function, of a `ServedModel`.
    request: a JSON value.

  Raises:
    ValueError: the request does not fit the signature.
  """
  if not isinstance(request, dict):
    raise ValueError("The body must be a JSON object.")
  name = request.get("signature_name", SERVING_DEFAULT)
  if not isinstance(name, str) or name not in functions:
    raise ValueError(
      f"signature_name must be one of {sorted(functions)}. Received: {name!r}."
    )
  if ("instances" in request) == ("inputs" in request):
    raise ValueError('Give either "instances" (rows) or "inputs" (columns).')
  specs = input_specs(functions[name])
  if "inputs" in request:
    columns = request["inputs"]
    if not isinstance(columns, dict) and len(specs) == 1:
      columns = {next(iter(specs)): columns}
  else:
    columns = _columns(request["instances"], specs)
  if not isinstance(columns, dict) or set(columns) != set(specs):
    raise ValueError(f"The inputs of {name} are {', '.join(specs)}.")
  tensors = {key: _tensor(key, columns[key], specs[key]) for key in specs}
  if len({len(tensor) for tensor in tensors.values()}) != 1:
    raise ValueError("The columns must have one length.")
  outputs = {
    key: _json_value(tensor.numpy().tolist())
    for key, tensor in functions[name](**tensors).items()
  }
  if "inputs" in request:
    return {"outputs": outputs}
  rows = zip(*outputs.values(), strict=True)
  return {"predictions": [dict(zip(outputs, r, strict=True)) for r in rows]}


def text_tensors(row):
  """Tensors of one row of question and context, for a preprocessor."""
  specs = dict.fromkeys(
    ("question", "context"), tf.TensorSpec([None], tf.string)
  )
  columns = _columns([row], specs)
  return {name: _tensor(name, columns[name], specs[name]) for name in specs}


def input_specs(function):
  """Dict of input name to tf.TensorSpec of a tf.function."""
  specs = function.get_concrete_function().structured_input_signature
  return {spec.name: spec for spec in (*specs[0], *specs[1].values())}


def signature_def(function, method):
  """The signature of a tf.function, as metadata replies have it."""
  outputs = function.get_concrete_function().structured_outputs
  return {
    "inputs": {k: _tensor_info(s) for k, s in input_specs(function).items()},
    "outputs": {k: _tensor_info(tensor) for k, tensor in outputs.items()},
    "method_name": method,
  }


def _columns(rows, specs):
  """Dict of input name to its values in all rows."""
  if not isinstance(rows, list) or not rows:
    raise ValueError('"instances" must be a list with at least one row.')
  if len(specs) == 1:
    (name,) = specs
    return {
      name: [r[name] if isinstance(r, dict) and name in r else r for r in rows]
    }
  for row in rows:
    if not isinstance(row, dict) or set(row) != set(specs):
      raise ValueError(
        f"Each row must have {' and '.join(specs)}, and nothing else."
      )
  return {name: [row[name] for row in rows] for name in specs}


def _tensor(name, values, spec):
  if not isinstance(values, list) or not values:
    raise ValueError(f"{name} must be a list with at least one value.")
  if spec.dtype == tf.string:
    return tf.constant([_bytes(name, value) for value in values])
  array = np.array(values)
  if array.ndim != spec.shape.rank or array.dtype.kind != "i":
    raise ValueError(
      f"{name} must be rows of whole numbers, all of one length."
    )
  limits = np.iinfo(np.int32)
  if array.size and not limits.min <= array.min() <= array.max() <= limits.max:
    raise ValueError(f"{name} has a number beyond int32.")
  return tf.constant(array, spec.dtype)


def _bytes(name, value):
  """The bytes of a string, or of an object such as {"b64": "YQ=="}."""
  if isinstance(value, str):
    return encodable(value).encode("utf-8")
  if isinstance(value, dict) and isinstance(value.get("b64"), str):
    return base64.b64decode(value["b64"], validate=True)
  raise ValueError(f"{name} must be text. Received: {value!r:.80}.")


def _json_value(value):
  """Bytes to str, also within lists."""
  if isinstance(value, list):
    return [_json_value(item) for item in value]
  return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _tensor_info(tensor):
  sizes = [-1 if size is None else size for size in tensor.shape]
  return {
    "dtype": types_pb2.DataType.Name(tensor.dtype.as_datatype_enum),
    "tensor_shape": {
      "dim": [{"size": str(size), "name": ""} for size in sizes],
      "unknown_rank": False,
    },
  }
