"""Answers questions with TFLite files, run by LiteRT or TensorFlow."""

import importlib.util
import threading
import warnings

import numpy as np

try:
  import tensorflow  # noqa: F401
except ModuleNotFoundError:
  from bert_span.keras_backend import ensure_tensorflow_backend

  ensure_tensorflow_backend()  # Raises an error with the missing package.
  raise

from bert_span.answers import predictions as prediction_lib
from bert_span.answers.window_logits import (
  NO_LOGIT,
  WindowDecoder,
  WindowLogits,
)
from bert_span.data.window_batches import window_batches
from bert_span.extractors.preset_loader import find_extractor_class
from bert_span.keras_backend import check_not_forked
from bert_span.options.fields import options_from_json
from bert_span.text.options import WindowOptions
from bert_span.text.windows import LENGTH_MULTIPLE
from bert_span.tflite import file as tflite_file
from bert_span.tflite.conversion import INPUT_NAMES

_LITERT = "ai_edge_litert"


class TFLiteSpanExtractor:
  """Answers questions with a TFLite file.

  The file has encoder and head, which ai_edge_litert runs if it is installed.
  Tokens, windows and decoding are those of `SpanExtractor` and need TensorFlow
  and tensorflow-text: passages may have any length, case and accents. Without
  TensorFlow, use the runners in C++ and the browser.

  Example:

  ```python
  extractor = TFLiteSpanExtractor("model.tflite")
  extractor.answer(question="Who came?", context="John Smith came.")
  # Answer(text="John Smith", char_start=0, char_end=10, ...)
  ```

  Args:
    path: a file that export_tflite.py wrote.
    window_options: `WindowOptions`; None uses those of the file.
    decoder_options: options of its head's decoder; None uses those of the file.
    num_threads: threads of the runtime; None uses its default.

  Raises:
    OSError: the file cannot be read.
    ValueError: it is not such a file, it is damaged, or its windows are shorter
      than max_seq_length.
  """

  def __init__(
    self, path, window_options=None, decoder_options=None, num_threads=None
  ):
    check_not_forked()
    config = tflite_file.read_packed_config(path)
    content = tflite_file.check_unchanged(path, config)
    extractor_class = find_extractor_class(config["head"], path)
    self.columns = extractor_class.columns
    self.window_options = window_options or WindowOptions(**config["window"])
    self.decoder_options = decoder_options or options_from_json(
      extractor_class.decoder_class.options_type,
      config["decoder"],
      f"{path}, decoder",
    )
    about_file = config["tflite"]
    self.runner = TFLiteRunner(path, num_threads, about_file["max_length"])
    lengths = self.runner.max_length, self.runner.is_dynamic
    if lengths != (about_file["max_length"], about_file["dynamic_length"]):
      raise ValueError(
        f"{path}: max_length and dynamic_length must be {lengths}, as in the "
        f"model. Received: {about_file['max_length']}, "
        f"{about_file['dynamic_length']}. Export the model again."
      )
    max_seq_length = self.window_options.max_seq_length
    if max_seq_length > self.runner.max_length:
      raise ValueError(
        f"{path}: max_seq_length must be at most {self.runner.max_length}, the "
        f"longest window of the file. Received: {max_seq_length}."
      )
    vocabulary = tflite_file.read_vocabulary(path)
    max_length = about_file["max_length"]
    tflite_file.check_tables(path, content, vocabulary, max_length)
    try:
      self.preprocessor = extractor_class.preprocessor_class(
        vocabulary, config["do_lower_case"], self.window_options
      )
    except ValueError as error:
      raise ValueError(
        f"{path}, {tflite_file.VOCABULARY_FILE}: {error}"
      ) from error
    self._logit_shapes = extractor_class.logits
    self._decoder = WindowDecoder(extractor_class, self.decoder_options)

  def answer(self, question, context, n_best=1):
    """Answers one question, or several; see `SpanExtractor.answer`."""
    return prediction_lib.answer(
      self.predictions, self.decoder_options, question, context, n_best
    )

  def answers(self, question, context):
    """Returns all spans of each answer, see `SpanExtractor.answers`."""
    return prediction_lib.answers(self.predictions, question, context)

  def predictions(self, examples):
    """Yields the `Prediction` of each `SquadExample`, in their order."""
    for window_logits in self.window_logits(examples):
      yield from self.decode(window_logits)

  def window_logits(self, examples):
    """Yields the `WindowLogits` of examples, batch by batch; see `decode`."""
    for batch, windows in window_batches(examples, self.preprocessor):
      yield WindowLogits(batch, windows, self._logits(windows))

  def decode(self, window_logits):
    """Decodes a `WindowLogits` to a list of `Prediction`."""
    return self._decoder(window_logits)

  def _logits(self, windows):
    """Returns the logits of all windows, with NO_LOGIT for padding."""
    mask = windows["padding_mask"]
    inputs = windows["token_ids"], mask, windows["segment_ids"]
    lengths = mask.sum(axis=1)
    logits = {
      name: np.full([*mask.shape, *shape], NO_LOGIT, np.float32)
      for name, shape in self._logit_shapes.items()
    }
    # By length, so that the runtime plans its memory once for each length.
    for row in np.argsort(lengths, kind="stable"):
      length = lengths[row]
      outputs = self.runner(*(values[row, :length] for values in inputs))
      for name, values in logits.items():
        values[row, :length] = outputs[name]
    return logits


class TFLiteRunner:
  """Runs a file of `convert_model`: computes logits, one window at a time.

  Threads wait for each other. If the length is dynamic, `max_length` is the
  longest window, in WordPieces.
  """

  def __init__(self, path, num_threads=None, max_length=512):
    self.signature = make_interpreter(path, num_threads).get_signature_runner()
    ids = self.signature.get_input_details()["ids"]
    length = int(ids["shape_signature"][1])
    self.is_dynamic = length == -1
    self.max_length = max_length if self.is_dynamic else length
    self._lock = threading.Lock()

  def __call__(self, token_ids, padding_mask, segment_ids):
    """Returns logits, float32 [seq_length, ..], of int32 [seq_length]."""
    seq_length, length = len(token_ids), self.max_length
    if self.is_dynamic:
      length = min(
        (seq_length // LENGTH_MULTIPLE + 1) * LENGTH_MULTIPLE, length
      )
    padded = np.zeros([len(INPUT_NAMES), 1, length], np.int32)
    padded[:, 0, :seq_length] = token_ids, padding_mask, segment_ids
    # The runtime plans its memory again only if the length has changed.
    with self._lock:
      logits = self.signature(**dict(zip(INPUT_NAMES, padded, strict=True)))
    return {name: values[0, :seq_length] for name, values in logits.items()}


def make_interpreter(path, num_threads=None, plain_kernels=False):
  """Returns an interpreter of ai_edge_litert if installed, else of tf.lite.

  With plain_kernels it does not use XNNPACK.
  """
  if runtime_name() == _LITERT:
    from ai_edge_litert import interpreter as runtime
  else:
    from tensorflow.lite.python import interpreter as runtime
  resolver = runtime.OpResolverType.AUTO
  if plain_kernels:
    resolver = runtime.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
  with warnings.catch_warnings():
    # tf.lite warns that ai_edge_litert will replace it.
    warnings.simplefilter("ignore", UserWarning)
    try:
      return runtime.Interpreter(
        model_path=str(path),
        num_threads=num_threads,
        experimental_op_resolver_type=resolver,
      )
    except (RuntimeError, ValueError) as error:
      raise ValueError(f"{path} cannot be loaded: {error}") from error


def runtime_name():
  """Returns the package whose runtime `make_interpreter` uses."""
  return _LITERT if importlib.util.find_spec(_LITERT) else "tensorflow.lite"
