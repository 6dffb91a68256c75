"""The answers of a served B/I/O head: any number of spans a question."""

import functools

import tensorflow as tf

from bert_span.answers.decoding.bio_decoder import BioDecoder
from bert_span.serving.answer_server import AnswerServer


class BioServer(AnswerServer):
  """A `SpanModel` with a B/I/O head, ready to be exported.

  It gives, per question, [batch]:
    span_count: int32, spans of the answer; 0 for no answer.
    answer: string, valid UTF-8, the span with the best score; "" for no
      answer.
    char_start, char_end, byte_start, byte_end: int32, of that span, half-open.
    score, probability, null_odds: float32, see `BioDecoder`.
    is_answerable: bool, whether there is a span.
  Per span, [batch, max_spans], in order of position: span_text,
  span_char_start, span_char_end, span_byte_start, span_byte_end, span_score
  and span_probability. max_spans is the largest span_count of the batch, and 1
  at least. Padding is "" and 0.

  Classes are the spans, their scores the probabilities. No answer is the class
  "" with the probability that there is none; padding has the score 0.

  Example:

  ```python
  server = BioServer(
    extractor.model, extractor.preprocessor, BioDecoderOptions()
  )
  answers = server.answer(
    tf.constant(["Who came?"]), tf.constant(["Ada came, and Bea."])
  )
  answers["span_text"]  # string [1, max_spans]
  ```

  Args:
    model: a `SpanModel` with a B/I/O head.
    preprocessor: its `SpanPreprocessor`.
    decoder_options: `BioDecoderOptions`.
    options: `ServingOptions`.
  """

  def __init__(self, model, preprocessor, decoder_options, options=None):
    decode = functools.partial(_columns, BioDecoder(decoder_options))
    super().__init__(model, preprocessor, decode, _classes, options)


def _columns(decoder, contexts, windows, tag_logits):
  """The decoder's columns, their shapes told as far as they are known."""
  return {
    name: tf.ensure_shape(
      values,
      [None, None]
      if name.startswith("span_") and name != "span_count"
      else [None],
    )
    for name, values in decoder(contexts, windows, tag_logits).items()
  }


def _classes(columns):
  """Spans and probabilities, and "no answer" in the place of a first span."""
  scores = columns["span_probability"]
  is_none = tf.logical_not(columns["is_answerable"])[:, tf.newaxis]
  is_first = tf.range(tf.shape(scores)[1]) == 0  # [max_spans]
  probability = columns["probability"][:, tf.newaxis]
  return columns["span_text"], tf.where(is_none & is_first, probability, scores)
