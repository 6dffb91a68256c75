"""TFLiteSpanExtractor: a TFLite file answers about passages of any length."""

import numpy as np
import tensorflow as tf

from bert_span.answers.answer_forms import AnswerForms
from bert_span.answers.window_logits import (
  NO_LOGIT,
  WindowDecoder,
  WindowLogits,
)
from bert_span.data.window_batches import INPUT_SPECS, window_batches
from bert_span.heads.known import find_head
from bert_span.text.options import WindowOptions
from bert_span.text.preprocessor import SpanPreprocessor
from bert_span.tflite import file as tflite_file
from bert_span.tflite.runner import TFLiteRunner


class TFLiteSpanExtractor(AnswerForms):
  """Answers questions by a TFLite file, with this package's windows.

  Everything but the encoder is that of `SpanExtractor`: tokens, windows,
  decoding, "no answer". So passages may be of any length, cased or uncased,
  with accents.

  Example:

  ```python
  extractor = TFLiteSpanExtractor("model.tflite")
  extractor.answer(question="Who came?", context="John Smith came.")
  # Answer(text="John Smith", char_start=0, char_end=10, ...)
  ```

  Args:
    path: a file that export.export_tflite wrote, without --with_tokenizer.
    window_options: `WindowOptions`; None takes those the file came with.
    decoder_options: those of its head; None takes the file's.
    num_threads: threads of the runtime; None leaves it to the runtime.
    head: `AnswerHead` of the model; None finds the package's own by its name.

  Raises:
    OSError: the file cannot be read.
    ValueError: it is no such file, it is damaged, or its windows are shorter
      than max_seq_length.
  """

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
    if tflite_file.has_tokenizer(config):
      raise ValueError(
        f"{path} has its tokenizer inside: open it with TFLiteTextExtractor."
      )
    head = head or find_head(config["head"])
    self.window_options = window_options or WindowOptions(**config["window"])
    self.runner = TFLiteRunner(
      path, num_threads, config["tflite"]["max_length"]
    )
    _check_length(path, self.runner, self.window_options.max_seq_length)
    self.preprocessor = SpanPreprocessor(
      read_vocabulary(path), config["do_lower_case"], self.window_options
    )
    super().__init__(
      head, decoder_options or head.options_type(**config["decoder"])
    )
    self._decode = WindowDecoder(head, self.decoder_options)
    # Traced once, and not at every call.
    self._make_windows = tf.function(
      self.preprocessor, input_signature=[INPUT_SPECS]
    )

  def predict(self, examples, on_logits=None):
    """Answers many questions.

    Args:
      examples: sequence of `SquadExample`.
      on_logits: called with the `WindowLogits` of each `example_batches`.

    Yields:
      Predictions of the head, in the order of `examples`.
    """
    for batch, windows in window_batches(examples, self._make_windows):
      logits = WindowLogits(batch, windows, self._score(windows))
      if on_logits:
        on_logits(logits)
      yield from self._decode(logits)

  def _score(self, windows):
    """Logits of all windows; NO_LOGIT on padding."""
    mask = windows["input_mask"]
    lengths = mask.sum(axis=1)
    logits = {
      name: np.full([*mask.shape, *shape], NO_LOGIT, np.float32)
      for name, shape in self.head.logits.items()
    }
    # By length, so that the runtime plans its memory once a length.
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


def read_vocabulary(path):
  """The vocabulary packed behind a TFLite file, as a list of tokens."""
  files = tflite_file.read_files(path)
  text = files[tflite_file.VOCABULARY_FILE].decode("utf-8")
  return text.removesuffix("\n").split("\n")


def _check_length(path, runner, max_seq_length):
  if max_seq_length > runner.max_length:
    raise ValueError(
      f"{path}: max_seq_length must be at most {runner.max_length}, the "
      f"WordPieces that the file takes. Received: {max_seq_length}."
    )
