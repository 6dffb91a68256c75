"""What differs between the span head and the B/I/O head, side by side.

"span" scores one start and one end, "bio" tags every token B, I or O and so
finds answers of several spans.
"""

from bert_span.answers.head_decoding import (
  BIO,
  SPAN,
  decoder_options,
)
from bert_span.modeling.bio_head import BioHead
from bert_span.modeling.span_head import SpanHead
from bert_span.modeling.span_model import SpanModel, assign_head

__all__ = (
  "BIO",
  "SPAN",
  "decoder_options",
  "has_head",
  "head_of",
  "model_of",
)
# The names of the heads' layers.
_LAYERS = {SPAN: "span_head", BIO: "tag_head"}


def head_of(model):
  """The head of a `SpanModel`, "span" or "bio"."""
  return BIO if model.head.name == _LAYERS[BIO] else SPAN


def has_head(loaded, head):
  """Whether a `LoadedEncoder` came with a trained head of this kind."""
  return _LAYERS[head] in loaded.head_weights


def model_of(loaded, head, head_bias=True):
  """A model on a `LoadedEncoder`, with its trained head if it has one.

  Args:
    loaded: `LoadedEncoder`.
    head: "span" or "bio".
    head_bias: whether a new span head has a bias.

  Returns:
    A `SpanModel`.
  """
  tensors = loaded.head_weights.get(_LAYERS[head])
  if head == SPAN:
    layer = SpanHead(head_bias if tensors is None else "bias" in tensors)
  else:
    layer = BioHead()
  model = SpanModel(loaded.backbone, layer)
  if tensors is not None:
    assign_head(model, tensors)
  return model
