"""The answers of a served span head: a span a question, and an n-best list."""

import functools

import tensorflow as tf

from bert_span.answers.decoding.span_decoder import SpanDecoder
from bert_span.serving.answer_server import AnswerServer


class SpanServer(AnswerServer):
  """A `SpanModel`, ready to be exported.

  It gives, per question, [batch]:
    answer: string, valid UTF-8; "" for no answer.
    char_start, char_end: int32, characters of the context, half-open.
    byte_start, byte_end: int32, bytes of the context, half-open.
    score, probability, null_odds: float32, see `SpanDecoder`.
    is_answerable: bool, whether the answer is a span.
    n_best_count: int32, entries of the n-best list that are no padding.
  Per entry, [batch, n_best], best first: n_best_answer, n_best_char_start,
  n_best_char_end, n_best_byte_start, n_best_byte_end, n_best_score,
  n_best_probability, and n_best_is_answerable: whether the entry is a span
  and neither "no answer" nor padding. n_best is n_best_size, and one more
  with version_2_with_negative. Padding is "", 0 and False.

  Classes are the n-best answers, their scores the probabilities.

  Example:

  ```python
  server = SpanServer(extractor.model, extractor.preprocessor, DecoderOptions())
  answers = server.answer(
    tf.constant(["Who came?"]), tf.constant(["John Smith came."])
  )
  answers["answer"]  # string [1]
  ```

  Args:
    model: a `SpanModel`.
    preprocessor: its `SpanPreprocessor`.
    decoder_options: `DecoderOptions`.
    options: `ServingOptions`.
  """

  def __init__(self, model, preprocessor, decoder_options, options=None):
    decode = functools.partial(_columns, SpanDecoder(decoder_options))
    super().__init__(model, preprocessor, decode, _classes, options)


def _columns(decoder, contexts, windows, start_logits, end_logits):
  """The decoder's columns under their served names."""
  columns = dict(decoder(contexts, windows, start_logits, end_logits))
  for name in ("n_best_start_logit", "n_best_end_logit"):
    del columns[name]
  columns["n_best_answer"] = columns.pop("n_best_text")
  columns["n_best_is_answerable"] = (
    columns["n_best_char_end"] > columns["n_best_char_start"]
  )
  n_best = decoder.options.n_best_size
  if decoder.options.version_2_with_negative:
    n_best += 1
  return {
    name: tf.ensure_shape(values, [None, n_best])
    if name.startswith("n_best_") and name != "n_best_count"
    else tf.ensure_shape(values, [None])
    for name, values in columns.items()
  }


def _classes(columns):
  return columns["n_best_answer"], columns["n_best_probability"]
