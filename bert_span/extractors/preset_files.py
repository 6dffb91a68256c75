"""Loads extractors from presets and saves them as one."""

import dataclasses
import os

from bert_span.modeling.architectures import architecture_of
from bert_span.options.fields import options_from_json
from bert_span.presets import model_directory
from bert_span.presets.encoder_source import EncoderSource
from bert_span.presets.selection import SELECTION_FILE, write_selection
from bert_span.presets.span_config import (
  CONFIG_FILE,
  read_span_config,
  span_config,
  write_span_config,
)
from bert_span.storage.atomic_file import replaced_directory
from bert_span.storage.files import is_remote
from bert_span.storage.log import log_line
from bert_span.text.options import WindowOptions


def load_extractor(
  cls,
  preset,
  window_options=None,
  decoder_options=None,
  fixed_length=False,
  verify=True,
  options=None,
):
  """Loads an extractor of a class; see `Extractor.from_preset`."""
  if isinstance(preset, EncoderSource):
    source, config = preset, {}
    if preset.preset:
      config = read_span_config(preset.preset) or {}
  else:
    source = EncoderSource(preset=os.fspath(preset), verify=verify)
    config = read_span_config(preset) or {}
  kind = cls.class_of_head(config.get("head", cls.head_name), preset)
  window = window_options or WindowOptions(**config.get("window", {}))
  decoder = decoder_options or options_from_json(
    kind.decoder_class.options_type,
    config.get("decoder", {}),
    f"{source.preset}/{CONFIG_FILE}, decoder",
  )
  window, decoder = _with_options(options or {}, window, decoder)
  loaded = source.load()
  extractor = kind.from_loaded(
    loaded,
    loaded.vocabulary(source.vocab_file),
    config.get("do_lower_case", source.lower_case(loaded)),
    window,
    decoder,
    fixed_length,
  )
  if extractor.has_new_head:
    log_line(f"{loaded.description} has no {kind.head_name} head: a new one.")
  return extractor


def save_extractor(extractor, directory, selection=None, half_precision=False):
  """Saves an extractor; see `Extractor.save_to_preset`."""
  directory = os.fspath(directory)
  if not is_remote(directory):
    directory = os.path.realpath(directory)
    is_model = os.path.isfile(os.path.join(directory, CONFIG_FILE))
    is_empty = os.path.isdir(directory) and not os.listdir(directory)
    if os.path.lexists(directory) and not is_model and not is_empty:
      raise ValueError(
        f"{directory} is not replaced: it has no {CONFIG_FILE}, so it is no "
        "model of bert_span. Save the model in a new directory."
      )
  with replaced_directory(
    directory,
    last=[CONFIG_FILE, SELECTION_FILE],
    keeps=model_directory.is_other_file,
  ) as unfinished:
    _write_files(extractor, unfinished, half_precision)
    write_selection(unfinished, selection)
    config = span_config(
      extractor.preprocessor.tokenizer.do_lower_case,
      extractor.window_options,
      extractor.decoder_options,
      extractor.head_name,
    )
    write_span_config(unfinished, config)


def _write_files(extractor, directory, half_precision):
  tokenizer = extractor.preprocessor.tokenizer
  model_directory.save_backbone(extractor.backbone, directory, half_precision)
  model_directory.save_head(extractor.head, directory)
  model_directory.save_tokenizer(
    directory,
    tokenizer.full_vocabulary,
    tokenizer.do_lower_case,
    architecture_of(extractor.backbone),
  )
  model_directory.write_checksums(directory)


def _with_options(values, *options):
  """Some option dataclasses, with single values replaced by name."""
  fields = [{f.name for f in dataclasses.fields(each)} for each in options]
  unknown = values.keys() - set().union(*fields)
  if unknown:
    raise ValueError(
      f"There is no option {', '.join(sorted(unknown))}; there are "
      f"{', '.join(sorted(set().union(*fields)))}."
    )
  return [
    dataclasses.replace(each, **{n: values[n] for n in names & values.keys()})
    for each, names in zip(options, fields, strict=True)
  ]
