"""Runs a TFLite file on single windows, by LiteRT or by TensorFlow."""

import functools
import importlib
import importlib.util
import warnings

import numpy as np

from bert_span.text.windows import LENGTH_MULTIPLE
from bert_span.tflite.conversion import INPUT_NAMES

_LITERT = "ai_edge_litert"


class TFLiteRunner:
  """Gives windows their logits, one window at a time.

  Args:
    path: local path of a TFLite file, see `convert`.
    num_threads: threads of the runtime; None leaves it to the runtime.
    max_length: longest window, in WordPieces, where the file takes any length.

  Attributes:
    max_length: longest window that can be run, in WordPieces.
    is_dynamic: whether the file takes windows of any length.
  """

  def __init__(self, path, num_threads=None, max_length=512):
    self._interpreter = make_interpreter(path, num_threads)
    signature = self._interpreter.get_signature_runner()
    self._inputs = _indices(signature.get_input_details())
    self._outputs = _indices(signature.get_output_details())
    if set(self._inputs) != set(INPUT_NAMES):
      raise ValueError(
        f"{path} must have the inputs {', '.join(INPUT_NAMES)}. Received: "
        f"{', '.join(sorted(self._inputs))}."
      )
    length = signature.get_input_details()["ids"]["shape_signature"][1]
    self.is_dynamic = bool(length == -1)
    self.max_length = max_length if self.is_dynamic else int(length)
    self._length = None

  def __call__(self, input_ids, input_mask, segment_ids):
    """Runs the model on one window.

    Args:
      input_ids, input_mask, segment_ids: int32 [seq_length], at most
        max_length of them.

    Returns:
      Dict of the logits by name, float32 [seq_length] or [seq_length, 3].

    Raises:
      ValueError: the window is too long.
    """
    seq_length = len(input_ids)
    if seq_length > self.max_length:
      raise ValueError(
        f"A window has at most {self.max_length} WordPieces in this TFLite "
        f"file. Received: {seq_length}."
      )
    self._resize(self._padded(seq_length))
    for name, values in zip(
      INPUT_NAMES, (input_ids, input_mask, segment_ids), strict=True
    ):
      padded = np.zeros([1, self._length], np.int32)
      padded[0, :seq_length] = values
      self._interpreter.set_tensor(self._inputs[name], padded)
    self._interpreter.invoke()
    return {
      name: self._interpreter.get_tensor(index)[0, :seq_length]
      for name, index in self._outputs.items()
    }

  def _padded(self, seq_length):
    if not self.is_dynamic:
      return self.max_length
    multiple = max(1, -(-seq_length // LENGTH_MULTIPLE)) * LENGTH_MULTIPLE
    return min(multiple, self.max_length)

  def _resize(self, length):
    if length == self._length:
      return
    for index in self._inputs.values():
      self._interpreter.resize_tensor_input(index, [1, length])
    self._interpreter.allocate_tensors()
    self._length = length


def make_interpreter(
  path, num_threads=None, plain_kernels=False, with_text_ops=False
):
  """An interpreter of ai_edge_litert where that is installed, else of tf.lite.

  Args:
    path: local path of a TFLite file.
    num_threads: threads of the runtime; None leaves it to the runtime.
    plain_kernels: leave XNNPACK out.
    with_text_ops: add the custom ops of tensorflow-text. They are built for
      tf.lite, so it is always that one.

  Returns:
    The interpreter; both have the same methods.

  Raises:
    ValueError: the file cannot be loaded.
  """
  name = runtime_name(with_text_ops)
  runtime = importlib.import_module(
    f"{_LITERT}.interpreter"
    if name == _LITERT
    else "tensorflow.lite.python.interpreter"
  )
  make = runtime.Interpreter
  if with_text_ops:
    # Loads all its ops, and is needed for these files only.
    from tensorflow_text import tflite_registrar

    make = functools.partial(
      runtime.InterpreterWithCustomOps, tflite_registrar.SELECT_TFTEXT_OPS
    )
  resolvers = runtime.OpResolverType
  resolver = resolvers.AUTO
  if plain_kernels:
    resolver = resolvers.BUILTIN_WITHOUT_DEFAULT_DELEGATES
  with warnings.catch_warnings():
    # That tf.lite makes way for ai_edge_litert.
    warnings.simplefilter("ignore", UserWarning)
    try:
      return make(
        model_path=str(path),
        num_threads=num_threads,
        experimental_op_resolver_type=resolver,
      )
    except (RuntimeError, ValueError) as error:
      raise ValueError(f"{path} cannot be loaded: {error}") from error


def runtime_name(with_text_ops=False):
  """The package whose runtime `make_interpreter` uses.

  Args:
    with_text_ops: see there.
  """
  is_litert = not with_text_ops and importlib.util.find_spec(_LITERT)
  return _LITERT if is_litert else "tensorflow.lite"


def _indices(details):
  return {name: detail["index"] for name, detail in details.items()}
