"""Answers of TFLite files, run by LiteRT or by TensorFlow."""

import dataclasses
import functools
import importlib.util
import warnings

import numpy as np
import tensorflow as tf

from bert_span.answers.decoding.predictions import AnswerForms, predictions_of
from bert_span.answers.window_logits import (
  NO_LOGIT,
  WindowDecoder,
  WindowLogits,
)
from bert_span.data.preprocessor import SpanPreprocessor
from bert_span.data.window_batches import (
  INPUT_SPECS,
  example_arrays,
  window_batches,
)
from bert_span.heads import find_head
from bert_span.options.fields import differences, options_from_json
from bert_span.squad.example import SquadExample
from bert_span.text.options import WindowOptions
from bert_span.text.vocabulary import BytePairs
from bert_span.text.windows import LENGTH_MULTIPLE
from bert_span.tflite import file as tflite_file
from bert_span.tflite.conversion import INPUT_NAMES

_LITERT = "ai_edge_litert"


def open_tflite(path, *args, **kwargs):
  """Opens a file with or without a tokenizer, see `TFLiteSpanExtractor`."""
  return _kind_of(tflite_file.read_span_config(path))(path, *args, **kwargs)


def _kind_of(config):
  has_tokenizer = config["tflite"]["with_tokenizer"]
  return TFLiteTextExtractor if has_tokenizer else TFLiteSpanExtractor


class _TFLiteExtractor(AnswerForms):
  """What extractors with and without a tokenizer in the file share."""

  def __init__(
    self,
    path,
    window_options=None,
    decoder_options=None,
    num_threads=None,
    head=None,
  ):
    config = tflite_file.read_span_config(path)
    tflite_file.check_unchanged(path, config)
    kind = _kind_of(config)
    if not isinstance(self, kind):
      found = "a" if kind is TFLiteTextExtractor else "no"
      raise ValueError(
        f"{path} contains {found} tokenizer. Open it with {kind.__name__}."
      )
    head = head or find_head(config["head"])
    window = WindowOptions(**config["window"])
    decoder = options_from_json(
      head.options_type, config["decoder"], f"{path}, decoder"
    )
    if kind is TFLiteTextExtractor:
      for wanted, own in ((window_options, window), (decoder_options, decoder)):
        changes = differences(*map(dataclasses.asdict, (own, wanted or own)))
        if changes:
          raise ValueError(
            f"{path} contains a tokenizer, so its options are fixed: "
            f"{'; '.join(changes)}. Export the model again with these options."
          )
    super().__init__(head, decoder_options or decoder)
    self.window_options = window_options or window
    self._open(path, config, num_threads)


class TFLiteSpanExtractor(_TFLiteExtractor):
  """Answers questions with a TFLite file.

  Only the encoder runs in the file. Tokens, windows and decoding are those of
  `SpanExtractor`: passages may have any length, case and accents.

  Example:

  ```python
  extractor = TFLiteSpanExtractor("model.tflite")
  extractor.answer(question="Who came?", context="John Smith came.")
  # Answer(text="John Smith", char_start=0, char_end=10, ...)
  ```

  Args:
    path: a file that export.export_tflite wrote, without --with_tokenizer.
    window_options: `WindowOptions`; None for those of the file.
    decoder_options: those of its head; None for those of the file.
    num_threads: threads of the runtime; None for its default.
    head: `AnswerHead` of the model; None for the one named in the file.

  Raises:
    OSError: the file cannot be read.
    ValueError: it is not such a file, it is damaged, or its windows are shorter
      than max_seq_length.
  """

  def _open(self, path, config, num_threads):
    max_length = config["tflite"]["max_length"]
    self.runner = TFLiteRunner(path, num_threads, max_length)
    max_seq_length = self.window_options.max_seq_length
    if max_seq_length > self.runner.max_length:
      raise ValueError(
        f"{path}: max_seq_length must be at most {self.runner.max_length}, the "
        f"longest window of the file. Received: {max_seq_length}."
      )
    vocabulary = tflite_file.read_vocabulary(path)
    merges = config["tflite"].get("merges")
    self.preprocessor = SpanPreprocessor(
      BytePairs(vocabulary, merges) if merges else vocabulary,
      config["do_lower_case"],
      self.window_options,
    )
    self._decode = WindowDecoder(self.head, self.decoder_options)
    # Traced once, not in every call.
    self._make_windows = tf.function(
      self.preprocessor, input_signature=[INPUT_SPECS]
    )

  def predict(self, examples, on_logits=None):
    """Yields the predictions of examples, see `SpanExtractor.predict`."""
    for batch, windows in window_batches(examples, self._make_windows):
      logits = WindowLogits(batch, windows, self._logits(windows))
      if on_logits:
        on_logits(logits)
      yield from self._decode(logits)

  def _logits(self, windows):
    """Logits of all windows; NO_LOGIT at padding."""
    mask = windows["input_mask"]
    lengths = mask.sum(axis=1)
    inputs = [windows["input_ids"], mask, windows["segment_ids"]]
    logits = {
      name: np.full([*mask.shape, *shape], NO_LOGIT, np.float32)
      for name, shape in self.head.logits.items()
    }
    # By length, so that the runtime plans its memory once for each.
    for row in np.argsort(lengths, kind="stable"):
      length = lengths[row]
      outputs = self.runner(*(values[row, :length] for values in inputs))
      for name, values in logits.items():
        values[row, :length] = outputs[name]
    return logits


class TFLiteTextExtractor(_TFLiteExtractor):
  """Answers questions with a TFLite file that contains its tokenizer.

  The whole computation runs in the file. It has the methods `answer`, `answers`
  and `predict` of `SpanExtractor`.

  Args:
    path: a file that export.export_tflite wrote, with --with_tokenizer.
    window_options, decoder_options: None, or options equal to the file's.
    num_threads, head: see `TFLiteSpanExtractor`.

  Raises:
    OSError: the file cannot be read.
    ValueError: it is not such a file, it is damaged, or has other options.
  """

  def _open(self, path, config, num_threads):
    interpreter = make_interpreter(path, num_threads, with_text_ops=True)
    self._run = interpreter.get_signature_runner()

  def predict(self, examples, batch_size=None, on_logits=None):
    """Yields the predictions of examples; on_logits must be None."""
    if on_logits is not None:
      raise ValueError(
        "A TFLite file with a tokenizer returns no logits (on_logits). Export "
        "it without --with_tokenizer."
      )
    for example in examples:
      columns = self.columns(example.question, example.context)
      # UTF-8: bytes from 0x80 to 0xBF continue a character.
      (context,) = example_arrays([example])["context"]
      begins = (np.frombuffer(context, np.uint8) & 0xC0) != 0x80
      characters = np.concatenate([[0], np.cumsum(begins)])
      in_characters = {
        name.replace("byte_", "char_"): characters[values]
        for name, values in columns.items()
        if "byte_" in name
      }
      yield from predictions_of([example], columns | in_characters)

  def columns(self, question, context):
    """Returns the outputs of the file, see `TextGraph`, for two strings."""
    return self._run(**self.inputs(question, context))

  def inputs(self, question, context):
    """Returns the inputs of the file for two strings."""
    return example_arrays([SquadExample("", question, context)])


class TFLiteRunner:
  """Computes the logits of windows, one at a time, by a file of `convert`.

  `max_length` is the longest window, in WordPieces, if the length is dynamic.
  """

  def __init__(self, path, num_threads=None, max_length=512):
    self._run = make_interpreter(path, num_threads).get_signature_runner()
    ids = self._run.get_input_details()["ids"]
    length = int(ids["shape_signature"][1])
    self._is_dynamic = length == -1
    self.max_length = max_length if self._is_dynamic else length

  def __call__(self, input_ids, input_mask, segment_ids):
    """The logits by name, float32 [seq_length, ..], of int32 [seq_length]."""
    seq_length, length = len(input_ids), self.max_length
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

  It uses no XNNPACK with plain_kernels. The custom ops of with_text_ops,
  tensorflow-text's, are built for tf.lite, which is then used.
  """
  if runtime_name(with_text_ops) == _LITERT:
    from ai_edge_litert import interpreter as runtime
  else:
    from tensorflow.lite.python import interpreter as runtime
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
