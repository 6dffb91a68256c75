"""Models of programs: what was given, over what a model has saved."""

import os

from bert_span.extractors.extractor import (
  Extractor,
  extractor_class,
  extractor_classes,
)
from bert_span.options.fields import option_fields, options_from_json
from bert_span.presets.span_config import TASK_FILE, read_span_config
from bert_span.text.options import WindowOptions


def load_extractor(options, **arguments) -> Extractor:
  """Loads the model of a program's options.

  Args:
    options: `ModelOptions`, of which those that were given replace what the
      model has saved.
    **arguments: more arguments of `from_preset`.

  Raises:
    ValueError: as `from_preset`; or an option is for another head.
  """
  config = read_span_config(options.model) or {}
  kind = head_class(options, config.get("head"))
  return Extractor.from_preset(
    options.model,
    verify=options.verify,
    **options.given(WindowOptions),
    **options.given(kind.decoder_class.options_type),
    **arguments,
  )


def head_class(options, saved=None) -> type[Extractor]:
  """Returns the `Extractor` class of `AnswerOptions`.

  Args:
    options: `AnswerOptions`.
    saved: name of the head of the model; None for a new one.

  Raises:
    ValueError: options of another head are given.
  """
  name = saved or options.head
  if options.is_given("head") and options.head != name:
    raise ValueError(
      f"head={options.head}: the model has a {name} head. Leave it out."
    )
  kind = extractor_class(name)
  for option, others in options_of_other_heads(options, kind).items():
    raise ValueError(
      f"`{option}` is for a {others} head, and the model has a {name} head. "
      "Leave it out."
    )
  return kind


def options_of_other_heads(options, kind):
  """Returns a dict of given options, not of this head, to those that have it.

  `options` are `AnswerOptions`, `kind` is an `Extractor` class.
  """
  allowed = {f.name for f in option_fields(kind.decoder_class.options_type)}
  return {
    name: head
    for head, other in extractor_classes().items()
    for name in options.given(other.decoder_class.options_type)
    if name not in allowed
  }


def merged_options(options, config, path):
  """Returns windows and decoding of a model, with what was given.

  Args:
    options: `AnswerOptions`.
    config: the dict of `read_span_config`; {} for none.
    path: of that file, for messages.

  Returns:
    (`WindowOptions`, options of the decoder).

  Raises:
    ValueError: a saved or given option cannot be used.
  """
  kind = head_class(options, config.get("head"))
  decoder = kind.decoder_class.options_type
  return [
    options_from_json(part, config.get(key, {}), f"{path}, {key}").replaced(
      **options.given(part)
    )
    for part, key in ((WindowOptions, "window"), (decoder, "decoder"))
  ]


def check_n_best(options, decoder_options):
  """Checks that no more answers are asked for than the decoder keeps."""
  kept = getattr(decoder_options, "n_best_size", options.n_best)
  if options.is_given("n_best") and options.n_best > kept:
    raise ValueError(
      f"n_best={options.n_best} is above n_best_size={kept}: raise it."
    )


def check_no_span(options, kind):
  """Checks that only a head that run_squad has answers as run_squad does."""
  if options.no_span == "original" and kind.columns.entries == "spans":
    raise ValueError(
      f"no_span={options.no_span} is for head=span. Leave it out."
    )


def saved_config(model):
  """Returns the `read_span_config` of a model; {} without one.

  Raises:
    ValueError: one of its options has a wrong value.
  """
  config = model and read_span_config(model)
  if config:
    path = os.path.join(model, TASK_FILE)
    options_type = extractor_class(config["head"]).decoder_class.options_type
    options_from_json(
      options_type, config["decoder"], f"{path}, decoder_options"
    )
  return config or {}
