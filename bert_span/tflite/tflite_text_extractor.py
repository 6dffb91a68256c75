"""Answers of a TFLite file that has its tokenizer and windows inside."""

import dataclasses

import numpy as np

from bert_span.answers.answer_forms import AnswerForms
from bert_span.answers.decoding.predictions import predictions_of
from bert_span.heads.known import find_head
from bert_span.storage.utf8 import encodable
from bert_span.text.options import WindowOptions
from bert_span.tflite import file as tflite_file
from bert_span.tflite.runner import make_interpreter
from bert_span.tflite.tflite_extractor import TFLiteSpanExtractor


class TFLiteTextExtractor(AnswerForms):
  """Answers questions by a file of `convert_with_tokenizer`.

  The file does everything; here strings go in as UTF-8 and places come back in
  characters. It has the methods `answer`, `answers` and `predict` of
  `SpanExtractor`.

  Args:
    path: a file that export.export_tflite wrote, with --with_tokenizer.
    window_options, decoder_options: what the caller counts on; None takes
      whatever the file has.
    num_threads: threads of the runtime; None leaves it to the runtime.
    head: see `TFLiteSpanExtractor`.

  Raises:
    OSError: the file cannot be read.
    ValueError: it is no such file, it is damaged, or it has other options.
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
    if not tflite_file.has_tokenizer(config):
      raise ValueError(
        f"{path} has no tokenizer inside: open it with TFLiteSpanExtractor."
      )
    self.window_options = WindowOptions(**config["window"])
    head = head or find_head(config["head"])
    super().__init__(head, head.options_type(**config["decoder"]))
    _check_equal(path, window_options, self.window_options)
    _check_equal(path, decoder_options, self.decoder_options)
    interpreter = make_interpreter(path, num_threads, with_text_ops=True)
    self._run = interpreter.get_signature_runner()

  def predict(self, examples, batch_size=8, on_logits=None):
    """Answers many questions, one after the other.

    Args:
      examples: sequence of `SquadExample`.
      batch_size: not used: the file takes one question.
      on_logits: must be None: the file gives no logits.

    Yields:
      `Prediction`, in the order of `examples`.
    """
    del batch_size
    if on_logits is not None:
      raise ValueError(
        "A TFLite file with its tokenizer inside gives no logits. Export it "
        "without --with_tokenizer."
      )
    for example in examples:
      columns = self.columns(example.question, example.context)
      yield from predictions_of(
        [example], _in_characters(columns, example.context)
      )

  def columns(self, question, context):
    """What the file itself gives.

    Args:
      question, context: str.

    Returns:
      Dict of arrays, see `TextGraph`.
    """
    texts = {"question": question, "context": context}
    return self._run(
      **{
        name: np.array([encodable(text).encode("utf-8")], object)
        for name, text in texts.items()
      }
    )


def open_tflite(
  path,
  window_options=None,
  decoder_options=None,
  num_threads=None,
  head=None,
):
  """A TFLite file that answers questions, whatever it has inside.

  Args: those of `TFLiteSpanExtractor`.

  Returns:
    `TFLiteTextExtractor` for a file with its tokenizer inside, else
    `TFLiteSpanExtractor`.
  """
  config = tflite_file.read_span_config(path)
  has_tokenizer = tflite_file.has_tokenizer(config)
  kind = TFLiteTextExtractor if has_tokenizer else TFLiteSpanExtractor
  return kind(path, window_options, decoder_options, num_threads, head)


def _in_characters(columns, context):
  """Places counted in bytes as what `SpanDecoder` gives, in characters."""
  encoded = np.frombuffer(encodable(context).encode("utf-8"), np.uint8)
  # UTF-8: bytes from 0x80 to 0xBF go on with a character.
  begins = (encoded & 0xC0) != 0x80
  characters = np.concatenate([[0], np.cumsum(begins)])
  return {
    name.replace("byte_", "char_"): characters[values]
    if "byte_" in name
    else values
    for name, values in columns.items()
  }


def _check_equal(path, wanted, found):
  """Refuses options that are not those the file was made with."""
  if wanted is None or wanted == found:
    return
  found = dataclasses.asdict(found)
  different = [
    f"{name} is {found[name]!r} in the file, received {value!r}"
    for name, value in dataclasses.asdict(wanted).items()
    if value != found[name]
  ]
  raise ValueError(
    f"{path} has its tokenizer inside, so its options are fixed: "
    f"{'; '.join(different)}. Export the model again with these options."
  )
