"""Models of programs: given options replace those that a model has saved."""

import os

from bert_span.extractors.extractor import Extractor
from bert_span.extractors.preset_loader import (
  extractor_classes,
  find_extractor_class,
)
from bert_span.options.fields import option_fields, options_from_json
from bert_span.presets.span_config import TASK_FILE, read_span_config
from bert_span.text.options import WindowOptions


def load_extractor(options, **arguments) -> Extractor:
  """Loads the model of a program's options.

  Args:
    options: `ModelOptions`. Those that are given replace the saved ones.
    **arguments: more arguments of `Extractor.from_preset`.

  Raises:
    ValueError: see `Extractor.from_preset`; or an option is for another head.
  """
  config = read_span_config(options.model) or {}
  options_type = _decoder_options_type(options, config)
  return Extractor.from_preset(
    options.model,
    verify=options.verify,
    **options.given(WindowOptions),
    **options.given(options_type),
    **arguments,
  )


def extractor_class_of(options, saved_head=None) -> type[Extractor]:
  """Returns the extractor class for `AnswerOptions`.

  Args:
    options: `AnswerOptions`.
    saved_head: name of the model's head; None for a new one.

  Raises:
    ValueError: an option of another head is given.
  """
  name = saved_head or options.head
  if options.is_given("head") and options.head != name:
    raise ValueError(
      f"head={options.head}: the model has a {name} head. Leave it out."
    )
  extractor_class = find_extractor_class(name)
  unfit = options_of_other_heads(options, extractor_class)
  for option, head_name in unfit.items():
    raise ValueError(
      f"`{option}` is for a {head_name} head, and the model has a {name} head. "
      "Leave it out."
    )
  return extractor_class


def options_of_other_heads(options, extractor_class):
  """Returns the given `AnswerOptions` that the class does not have.

  It is a dict of their names to the name of a head that has them.
  """
  options_type = extractor_class.decoder_class.options_type
  allowed = {field.name for field in option_fields(options_type)}
  return {
    option: head_name
    for head_name, other_class in extractor_classes().items()
    for option in options.given(other_class.decoder_class.options_type)
    if option not in allowed
  }


def merged_options(options, config, path):
  """Returns the saved window and decoding options, with the given values.

  Args:
    options: `AnswerOptions`.
    config: the dict of `read_span_config`; {} without a saved model.
    path: path of its file, for messages.

  Returns:
    List of the `WindowOptions` and the options of the decoder.

  Raises:
    ValueError: a saved or given option has a wrong value.
  """
  types = {
    "window": WindowOptions,
    "decoder": _decoder_options_type(options, config),
  }
  return [
    options_from_json(
      options_type, config.get(key, {}), f"{path}, {key}"
    ).replaced(**options.given(options_type))
    for key, options_type in types.items()
  ]


def check_n_best(options, decoder_options):
  """Raises ValueError if n_best is above what the decoder keeps."""
  kept = getattr(decoder_options, "n_best_size", options.n_best)
  if options.is_given("n_best") and options.n_best > kept:
    raise ValueError(
      f"n_best={options.n_best} is above n_best_size={kept}: raise it."
    )


def check_no_span(options, extractor_class):
  """Raises ValueError if run_squad's no_span is given for another head."""
  answers_spans = extractor_class.columns.entries == "spans"
  if options.no_span == "original" and answers_spans:
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
    extractor_class = find_extractor_class(config["head"])
    options_from_json(
      extractor_class.decoder_class.options_type,
      config["decoder"],
      f"{path}, decoder_options",
    )
  return config or {}


def _decoder_options_type(options, config):
  extractor_class = extractor_class_of(options, config.get("head"))
  return extractor_class.decoder_class.options_type
