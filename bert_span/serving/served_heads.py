"""What differs between the heads when a model is served, side by side."""

from typing import NamedTuple

from bert_span.presets import headed_model as heads
from bert_span.serving import expected_answers, signature_guide
from bert_span.serving.bio_server import BioServer
from bert_span.serving.span_server import SpanServer


class ServedHead(NamedTuple):
  """What serving must know of a head.

  Attributes:
    server: class of its `AnswerServer`.
    expected_row: function of a prediction of the Python path that gives what
      the server must answer, see expected_answers.py.
    output_guide: descriptions of its outputs, see signature_guide.py.
  """

  server: type
  expected_row: object
  output_guide: dict


_SERVED_HEADS = {
  heads.SPAN: ServedHead(
    SpanServer, expected_answers.span_row, signature_guide.SPAN_OUTPUTS
  ),
  heads.BIO: ServedHead(
    BioServer, expected_answers.bio_row, signature_guide.BIO_OUTPUTS
  ),
}


def served_head(head):
  """The `ServedHead` of "span" or "bio"."""
  return _SERVED_HEADS[head]


def server_of(extractor, options=None):
  """What is exported of a trained model.

  Args:
    extractor: `SpanExtractor`.
    options: `ServingOptions`.

  Returns:
    The `AnswerServer` of its head.
  """
  return served_head(extractor.head).server(
    extractor.model,
    extractor.preprocessor,
    extractor.decoder_options,
    options,
  )
