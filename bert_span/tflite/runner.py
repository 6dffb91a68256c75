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
  """Computes the logits of windows, one window at a time.

  Args:
    path: local path of a TFLite file, see `convert`.
    num_threads: threads of the runtime; None for its default.
    max_length: longest window, in WordPieces, if the length is dynamic.

  Attributes:
    max_length: longest window that can be run, in WordPieces.
  """

  def __init__(self, path, num_threads=None, max_length=512):
    self._run = make_interpreter(path, num_threads).get_signature_runner()
    inputs = self._run.get_input_details()
    if set(inputs) != set(INPUT_NAMES):
      raise ValueError(
        f"{path} must have the inputs {', '.join(INPUT_NAMES)}. Received: "
        f"{', '.join(sorted(inputs))}."
      )
    length = int(inputs["ids"]["shape_signature"][1])
    self._is_dynamic = length == -1
    self.max_length = max_length if self._is_dynamic else length

  def __call__(self, input_ids, input_mask, segment_ids):
    """Returns the logits of one window by name, float32 [seq_length, ..].

    The arguments are int32 [seq_length]; ValueError for over max_length.
    """
    seq_length = len(input_ids)
    if seq_length > self.max_length:
      raise ValueError(
        f"A window has at most {self.max_length} WordPieces in this TFLite "
        f"file. Received: {seq_length}."
      )
    length = self.max_length
    if self._is_dynamic:
      multiple = -(-max(1, seq_length) // LENGTH_MULTIPLE) * LENGTH_MULTIPLE
      length = min(multiple, length)
    padded = np.zeros([len(INPUT_NAMES), 1, length], np.int32)
    padded[:, 0, :seq_length] = input_ids, input_mask, segment_ids
    # The runtime plans its memory again only if the length has changed.
    logits = self._run(**dict(zip(INPUT_NAMES, padded, strict=True)))
    return {name: values[0, :seq_length] for name, values in logits.items()}


def make_interpreter(
  path, num_threads=None, plain_kernels=False, with_text_ops=False
):
  """Returns an interpreter of ai_edge_litert if installed, else of tf.lite.

  Args:
    path: local path of a TFLite file; ValueError if it cannot be loaded.
    num_threads: threads of the runtime; None for its default.
    plain_kernels: do not use XNNPACK.
    with_text_ops: add the custom ops of tensorflow-text. They are built for
      tf.lite, which is then used.
  """
  name = runtime_name(with_text_ops)
  runtime = importlib.import_module(
    f"{_LITERT}.interpreter"
    if name == _LITERT
    else "tensorflow.lite.python.interpreter"
  )
  make = runtime.Interpreter
  if with_text_ops:
    # Loads all its ops, which only these files need.
    from tensorflow_text import tflite_registrar

    make = functools.partial(
      runtime.InterpreterWithCustomOps, tflite_registrar.SELECT_TFTEXT_OPS
    )
  resolver = runtime.OpResolverType.AUTO
  if plain_kernels:
    resolver = runtime.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
  with warnings.catch_warnings():
    # tf.lite announces that ai_edge_litert will replace it.
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
  """Returns the package whose runtime `make_interpreter` uses."""
  is_litert = not with_text_ops and importlib.util.find_spec(_LITERT)
  return _LITERT if is_litert else "tensorflow.lite"
