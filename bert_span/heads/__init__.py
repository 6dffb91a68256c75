"""What each kind of head is, as one object, and those of the package."""

from bert_span.heads.bio import BIO_HEAD
from bert_span.heads.span import SPAN_HEAD

HEADS = (SPAN_HEAD, BIO_HEAD)


def head_of_layer(layer):
  """The head of the package with the logits of a Keras layer."""
  for head in HEADS:
    if tuple(head.logits) == layer.logit_names:
      return head
  raise ValueError(
    f"{type(layer).__name__} is not the layer of a head of bert_span: pass the "
    "AnswerHead of the model as head."
  )


def find_head(name):
  """The head of a name, as --head and span_config.json have it."""
  for head in HEADS:
    if head.name == name:
      return head
  raise ValueError(
    f"The head {name!r} is not known to this version of bert_span, which has "
    f"{' and '.join(repr(head.name) for head in HEADS)}. Update bert_span, or "
    "pass the AnswerHead that the model was trained with."
  )
