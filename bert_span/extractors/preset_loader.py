"""Loads an extractor from a preset: its class, its options and its head."""

import dataclasses
import importlib
import os
import re

from bert_span.extractors.options import HEADS
from bert_span.extractors.precision import resolve_dtype, with_encoder_dtype
from bert_span.modeling.heads import assign_head
from bert_span.options.fields import options_from_json
from bert_span.presets import hub
from bert_span.presets.encoder_source import EncoderSource
from bert_span.presets.span_config import TASK_FILE, read_span_config
from bert_span.storage.log import log_line
from bert_span.text.options import WindowOptions

_SQUAD2_NAME = re.compile(r"squad[-_.]?v?2", re.IGNORECASE)


def load_preset(
  base_class,
  preset,
  window_options,
  decoder_options,
  fixed_length,
  verify,
  dtype,
  options,
):
  """Returns the extractor of a preset; see `Extractor.from_preset`.

  `base_class` is the class that was asked for, and `options` is a dict.
  """
  if not preset:
    raise ValueError(f"preset must name a model. Received: {preset!r}.")
  source, dtype = preset, resolve_dtype(dtype)
  if not isinstance(preset, EncoderSource):
    source = EncoderSource(preset=os.fspath(preset), verify=verify)
  name = os.fspath(source.preset or source.init_checkpoint or "")
  if source.preset:
    source = dataclasses.replace(source, preset=hub.fetch(source.preset))
  config = (source.preset and read_span_config(source.preset)) or {}
  extractor_class = _class_for(base_class, config, preset)
  windows = window_options or WindowOptions(**config.get("window", {}))
  decoder = decoder_options or options_from_json(
    extractor_class.decoder_class.options_type,
    config.get("decoder", {}),
    f"{source.preset}/{TASK_FILE}, decoder_options",
  )
  windows, decoder = _with_named_values(options, windows, decoder)
  loaded = source.load()
  if not config and trained_head_weights(extractor_class, loaded):
    decoder = _with_no_answer_decided(decoder, name)
  extractor = make_extractor(
    extractor_class,
    loaded,
    vocabulary=loaded.vocabulary(source.vocab_file),
    lower_case=config.get("do_lower_case", source.lower_case(loaded)),
    window_options=windows,
    decoder_options=decoder,
    fixed_length=fixed_length,
  )
  if not extractor.head_is_trained:
    head_name = extractor_class.head_name
    log_line(f"{loaded.description} has no {head_name} head: a new one.")
  if dtype != "float32":
    return with_encoder_dtype(extractor, dtype)
  return extractor


def _with_no_answer_decided(decoder, name):
  """Logs that a model of other packages' files gives each question an answer.

  Their files do not say whether the model knows "no answer". Nothing is logged
  if the options say it; those that are returned do.
  """
  options = "version_2_with_negative", "null_score_diff_threshold"
  if any(map(decoder.is_given, options)):
    return decoder
  condition = "If it was trained on unanswerable questions,"
  if _SQUAD2_NAME.search(name):
    condition = "Its name says SQuAD 2.0:"
  log_line(
    f'The files of {name} do not say whether it knows "no answer", so it '
    f"always answers. {condition} give version_2_with_negative=True."
  )
  return decoder.replaced(version_2_with_negative=False)


def make_extractor(
  extractor_class,
  loaded,
  vocabulary,
  lower_case,
  window_options,
  decoder_options,
  fixed_length=False,
  head_bias=True,
):
  """Returns an extractor of a `LoadedPreset`, with its head or a new one."""
  preprocessor = extractor_class.preprocessor_class(
    vocabulary, lower_case, window_options, pad_to_max=fixed_length
  )
  weights = trained_head_weights(extractor_class, loaded)
  head = None
  if weights:
    head = extractor_class.make_head(
      "bias" in weights, "transform_kernel" in weights
    )
  extractor = extractor_class(
    loaded.backbone, preprocessor, decoder_options, head, head_bias
  )
  if weights:
    assign_head(extractor.head, weights)
    extractor.head_is_trained = True
  return extractor


def trained_head_weights(extractor_class, loaded):
  """Returns the dict of arrays of a `LoadedPreset`'s head, or None."""
  return loaded.head_weights.get(extractor_class.make_head().name)


def find_extractor_class(head_name, source="`head`"):
  """Returns the extractor class for a head name.

  `source` says in messages where the name is from.
  """
  classes = extractor_classes()
  if head_name not in classes:
    raise ValueError(
      f"{source}: the head {head_name!r} is not known to this version of "
      f"bert_span, which has {' and '.join(map(repr, classes))}. Update "
      "bert_span, or import the class of the extractor that the model was "
      "trained with."
    )
  return classes[head_name]


def extractor_classes():
  """Returns a dict of head names to the classes that were defined so far."""
  for head in HEADS:  # These modules define their classes.
    importlib.import_module(f"bert_span.extractors.{head}_extractor")
  # It imports this module.
  from bert_span.extractors.extractor import Extractor

  classes, waiting = {}, Extractor.__subclasses__()
  while waiting:
    extractor_class = waiting.pop(0)
    classes.setdefault(extractor_class.head_name, extractor_class)
    waiting += extractor_class.__subclasses__()
  return classes


def _class_for(base_class, config, preset):
  """Returns the class for a `read_span_config`, {} for a new head."""
  if not config:
    # A base class without a head gets the original's, start and end scores.
    has_head = hasattr(base_class, "head_name")
    return base_class if has_head else find_extractor_class("span")
  saved_class = find_extractor_class(config["head"], f"{preset}, {TASK_FILE}")
  if getattr(base_class, "head_name", None) == saved_class.head_name:
    return base_class
  if not issubclass(saved_class, base_class):
    raise ValueError(
      f"{preset} has a {saved_class.head_name} head, and {base_class.__name__} "
      f"has a {base_class.head_name} head. Load it with "
      f"{saved_class.__name__}.from_preset, or with Extractor.from_preset."
    )
  return saved_class


def _with_named_values(values, *dataclass_options):
  """Returns copies of the dataclasses with the named fields replaced."""
  names = [{f.name for f in dataclasses.fields(x)} for x in dataclass_options]
  known = set().union(*names)
  if unknown := values.keys() - known:
    raise ValueError(
      f"There is no option {', '.join(sorted(unknown))}; there are "
      f"{', '.join(sorted(known))}."
    )
  return [
    options.replaced(**{name: values[name] for name in own & values.keys()})
    for options, own in zip(dataclass_options, names, strict=True)
  ]
