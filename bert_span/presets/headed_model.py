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
  "span_model_of",
)


def head_of(model):
  """The head of a `SpanModel`, "span" or "bio"."""
  return BIO if model.head.name == "tag_head" else SPAN


def has_head(loaded, head):
  """Whether a `LoadedEncoder` came with a trained head of this kind."""
  kernel = loaded.bio_kernel if head == BIO else loaded.head_kernel
  return kernel is not None


def span_model_of(loaded, head_bias=True):
  """A `SpanModel` on a `LoadedEncoder`, with its trained head if it has one."""
  model = SpanModel(loaded.backbone, SpanHead(head_bias))
  if loaded.head_kernel is not None:
    assign_head(model, _tensors(loaded.head_kernel, loaded.head_bias))
  return model


def model_of(loaded, head, head_bias=True):
  """A model on a `LoadedEncoder`, with its trained head if it has one.

  Args:
    loaded: `LoadedEncoder`.
    head: "span" or "bio".
    head_bias: whether a new span head has a bias.

  Returns:
    A `SpanModel`.
  """
  if head == SPAN:
    if loaded.head_kernel is not None:
      head_bias = loaded.head_bias is not None
    return span_model_of(loaded, head_bias)
  model = SpanModel(loaded.backbone, BioHead())
  if loaded.bio_kernel is not None:
    assign_head(model, _tensors(loaded.bio_kernel, loaded.bio_bias))
  return model


def _tensors(kernel, bias):
  return {"kernel": kernel} | ({} if bias is None else {"bias": bias})
