"""Answers of TFLite files to questions about passages of any length."""

import dataclasses

import numpy as np
import tensorflow as tf

from bert_span.answers.answer_forms import AnswerForms
from bert_span.answers.decoding.predictions import predictions_of
from bert_span.answers.window_logits import (
  NO_LOGIT,
  WindowDecoder,
  WindowLogits,
)
from bert_span.data.window_batches import INPUT_SPECS, window_batches
from bert_span.heads import find_head
from bert_span.storage.options import options_from_json
from bert_span.storage.utf8 import encodable
from bert_span.text.options import WindowOptions
from bert_span.text.preprocessor import SpanPreprocessor
from bert_span.tflite import file as tflite_file
from bert_span.tflite.runner import TFLiteRunner, make_interpreter


def open_tflite(path, *args, **kwargs):
  """Opens a TFLite file; arguments as of `TFLiteSpanExtractor`.

  Returns:
    `TFLiteTextExtractor` if the tokenizer is in the file, otherwise
    `TFLiteSpanExtractor`.
  """
  own = tflite_file.read_span_config(path)["tflite"]
  kind = TFLiteTextExtractor if own["with_tokenizer"] else TFLiteSpanExtractor
  return kind(path, *args, **kwargs)


class _TFLiteExtractor(AnswerForms):
  """What extractors with and without a tokenizer in the file share."""

  _has_tokenizer: bool

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
    if config["tflite"]["with_tokenizer"] != self._has_tokenizer:
      found, other = (
        ("no tokenizer", "TFLiteSpanExtractor")
        if self._has_tokenizer
        else ("a tokenizer", "TFLiteTextExtractor")
      )
      raise ValueError(f"{path} contains {found}. Open it with {other}.")
    head = head or find_head(config["head"])
    window = WindowOptions(**config["window"])
    decoder = options_from_json(
      head.options_type, config["decoder"], f"{path}, decoder"
    )
    if self._has_tokenizer:
      _check_equal(path, window_options, window)
      _check_equal(path, decoder_options, decoder)
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

  _has_tokenizer = False

  def _open(self, path, config, num_threads):
    self.runner = TFLiteRunner(
      path, num_threads, config["tflite"]["max_length"]
    )
    max_seq_length = self.window_options.max_seq_length
    if max_seq_length > self.runner.max_length:
      raise ValueError(
        f"{path}: max_seq_length must be at most {self.runner.max_length}, the "
        f"longest window of the file. Received: {max_seq_length}."
      )
    self.preprocessor = SpanPreprocessor(
      tflite_file.read_vocabulary(path),
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
    logits = {
      name: np.full([*mask.shape, *shape], NO_LOGIT, np.float32)
      for name, shape in self.head.logits.items()
    }
    # By length, so that the runtime plans its memory once for each.
    for row in np.argsort(lengths, kind="stable"):
      length = lengths[row]
      outputs = self.runner(
        *(
          windows[name][row, :length]
          for name in ("input_ids", "input_mask", "segment_ids")
        )
      )
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

  _has_tokenizer = True

  def _open(self, path, config, num_threads):
    del config
    interpreter = make_interpreter(path, num_threads, with_text_ops=True)
    self._run = interpreter.get_signature_runner()

  def predict(self, examples, batch_size=None, on_logits=None):
    """Yields the predictions of examples, see `SpanExtractor.predict`.

    on_logits must be None: the file returns no logits.
    """
    del batch_size  # The file answers one question at a time.
    if on_logits is not None:
      raise ValueError(
        "A TFLite file with a tokenizer returns no logits (on_logits). Export "
        "it without --with_tokenizer."
      )
    for example in examples:
      columns = self.columns(example.question, example.context)
      yield from predictions_of(
        [example], _in_characters(columns, example.context)
      )

  def columns(self, question, context):
    """Returns the outputs of the file, see `TextGraph`, for two strings."""
    return self._run(**self.inputs(question, context))

  def inputs(self, question, context):
    """Returns the inputs of the file for two strings."""
    return {
      name: np.array([encodable(text).encode("utf-8")], object)
      for name, text in (("question", question), ("context", context))
    }


def _in_characters(columns, context):
  """Converts the byte offsets of columns to character offsets."""
  encoded = np.frombuffer(encodable(context).encode("utf-8"), np.uint8)
  # UTF-8: bytes from 0x80 to 0xBF continue a character.
  begins = (encoded & 0xC0) != 0x80
  characters = np.concatenate([[0], np.cumsum(begins)])
  return {
    name.replace("byte_", "char_"): characters[values]
    if "byte_" in name
    else values
    for name, values in columns.items()
  }


def _check_equal(path, wanted, found):
  """Raises ValueError if options are not those of the file."""
  if wanted is None or wanted == found:
    return
  found = dataclasses.asdict(found)
  different = [
    f"{name} is {found[name]!r} in the file, received {value!r}"
    for name, value in dataclasses.asdict(wanted).items()
    if value != found[name]
  ]
  raise ValueError(
    f"{path} contains a tokenizer, so its options are fixed: "
    f"{'; '.join(different)}. Export the model again with these options."
  )
