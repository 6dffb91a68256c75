"""What differs between the span head and the B/I/O head, side by side.

"span" scores one start and one end, "bio" tags every token B, I or O and so
finds answers of several spans.
"""

from bert_span.answers.decoder import DecoderOptions
from bert_span.answers.tag_decoder import TagDecoderOptions
from bert_span.answers.tag_window_logits import (
  WindowTagDecoder,
  WindowTagLogits,
)
from bert_span.answers.window_logits import WindowDecoder, WindowLogits
from bert_span.modeling.span_model import assign_head, build_span_model
from bert_span.modeling.tag_model import (
  TagModel,
  assign_tag_head,
  build_tag_model,
)

SPAN, BIO = "span", "bio"
_OPTIONS = {SPAN: DecoderOptions, BIO: TagDecoderOptions}
_WINDOW_DECODERS = {SPAN: WindowDecoder, BIO: WindowTagDecoder}
_WINDOW_LOGITS = {SPAN: WindowLogits, BIO: WindowTagLogits}


def head_of(model):
  """The head of a `SpanModel`, "span", or of a `TagModel`, "bio"."""
  return BIO if isinstance(model, TagModel) else SPAN


def has_head(loaded, head):
  """Whether a `LoadedEncoder` came with a trained head of this kind."""
  kernel = loaded.tag_kernel if head == BIO else loaded.head_kernel
  return kernel is not None


def span_model_of(loaded, head_bias=True):
  """A `SpanModel` on a `LoadedEncoder`, with its trained head if it has one."""
  model = build_span_model(loaded.backbone, head_bias)
  if loaded.head_kernel is not None:
    assign_head(model, loaded.head_kernel, loaded.head_bias)
  return model


def model_of(loaded, head, head_bias=True):
  """A model on a `LoadedEncoder`, with its trained head if it has one.

  Args:
    loaded: `LoadedEncoder`.
    head: "span" or "bio".
    head_bias: whether a new span head has a bias.

  Returns:
    A `SpanModel` or a `TagModel`.
  """
  if head == SPAN:
    if loaded.head_kernel is not None:
      head_bias = loaded.head_bias is not None
    return span_model_of(loaded, head_bias)
  model = build_tag_model(loaded.backbone)
  if loaded.tag_kernel is not None:
    assign_tag_head(model, loaded.tag_kernel, loaded.tag_bias)
  return model


def decoder_options(head, values=None):
  """The decoding options of a head.

  Args:
    head: "span" or "bio".
    values: dict of their fields; None takes the defaults.

  Returns:
    `DecoderOptions` or `TagDecoderOptions`.
  """
  return _OPTIONS[head](**(values or {}))


def window_decoder(head, options):
  """What turns `window_logits` of a head into predictions.

  Args:
    head: "span" or "bio".
    options: its decoding options.

  Returns:
    `WindowDecoder` or `WindowTagDecoder`.

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
    `WindowLogits` or `WindowTagLogits`.
  """
  return _WINDOW_LOGITS[head](examples, windows, *logits)
