"""What differs between answers of the span head and of the B/I/O head."""

from bert_span.answers.bio_window_logits import (
  WindowBioDecoder,
  WindowBioLogits,
)
from bert_span.answers.decoding.bio_decoder import BioDecoderOptions
from bert_span.answers.decoding.span_decoder import DecoderOptions
from bert_span.answers.window_logits import WindowDecoder, WindowLogits
from bert_span.data.bio_labels import NUM_TAGS

SPAN, BIO = "span", "bio"
_OPTIONS = {SPAN: DecoderOptions, BIO: BioDecoderOptions}
_WINDOW_DECODERS = {SPAN: WindowDecoder, BIO: WindowBioDecoder}
_WINDOW_LOGITS = {SPAN: WindowLogits, BIO: WindowBioLogits}
# What a model of each head gives, and how many numbers a position has of each.
LOGIT_NAMES = {SPAN: ("start_logits", "end_logits"), BIO: ("tag_logits",)}
NUM_LOGITS = {SPAN: (), BIO: (NUM_TAGS,)}


def decoder_options(head, values=None):
  """The decoding options of a head.

  Args:
    head: "span" or "bio".
    values: dict of their fields; None takes the defaults.

  Returns:
    `DecoderOptions` or `BioDecoderOptions`.
  """
  return _OPTIONS[head](**(values or {}))


def window_decoder(head, options):
  """What turns `window_logits` of a head into predictions.

  Args:
    head: "span" or "bio".
    options: its decoding options.

  Returns:
    `WindowDecoder` or `WindowBioDecoder`.

  Raises:
    ValueError: the options are of another head.
  """
  if not isinstance(options, _OPTIONS[head]):
    raise ValueError(
      f"decoder_options must be {_OPTIONS[head].__name__} for a model with a "
      f"{head} head. Received: {type(options).__name__}."
    )
  return _WINDOW_DECODERS[head](options)


def window_logits(head, examples, windows, logits):
  """The logits of some windows with what they belong to.

  Args:
    head: "span" or "bio".
    examples: sequence of `SquadExample`.
    windows: dict of arrays, see `SlidingWindows`.
    logits: tuple of arrays, see `WindowScorer`.

  Returns:
    `WindowLogits` or `WindowBioLogits`.
  """
  return _WINDOW_LOGITS[head](examples, windows, *logits)
