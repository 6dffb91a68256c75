"""What calibrate does: reads files, fits, prints, plots and writes."""

import dataclasses
import json
import os
import sys
import typing

from bert_span.answers.decoding.options import FITTED
from bert_span.extractors.extractor import Extractor
from bert_span.extractors.preset_loader import find_extractor_class
from bert_span.options.fields import options_from_json
from bert_span.presets import span_config
from bert_span.reporting.score_table import format_calibration
from bert_span.scoring.calibration import (
  calibration_figures,
  check_calibration,
  fitted_options,
  score_questions,
)
from bert_span.squad.reader import read_squad
from bert_span.storage.atomic_file import write_files

if typing.TYPE_CHECKING:
  from bert_span.calibrate import CalibrateOptions

_TARGETS = ("target_precision", "target_answered")


def calibrate(options: "CalibrateOptions"):
  """Fits probabilities and a null threshold, and writes them into a model."""
  decoder_options = _saved_decoder_options(options)
  paths = {"fitted": options.predict_file, "evaluated": options.evaluate_file}
  files = {name: read_squad(path) for name, path in paths.items() if path}
  extractor = Extractor.from_preset(
    options.model, decoder_options=decoder_options, verify=options.verify
  )
  targets = {name: getattr(options, name) for name in _TARGETS}
  figures = {}
  for name, squad_file in files.items():
    scored = score_questions(
      extractor,
      squad_file.examples,
      options.predict_batch_size,
      squad_file.path,
    )
    if name == "fitted":
      fitted = fitted_options(scored, decoder_options, **targets)
    figures[name] = {
      "data": os.path.basename(squad_file.path),
      "num_questions": len(squad_file.examples),
      **calibration_figures(scored, squad_file, fitted),
    }
  values = {name: getattr(fitted, name) for name in FITTED}
  for name in FITTED if fitted.version_2_with_negative else FITTED[:2]:
    print(f"{name} {values[name]:.4f}")
  values["version_2_with_negative"] = fitted.version_2_with_negative
  for name, part in figures.items():
    print(f"\n{name} on {part['data']}, {part['num_questions']} questions")
    print(format_calibration(part["before"], part["after"]))
  text = json.dumps(
    values | targets | figures, indent=4, default=lambda x: x.as_dict()
  )
  contents = {"calibration.json": text + "\n"}
  if options.plots:
    from bert_span.reporting import calibration_plots  # matplotlib, an extra

    # The plots show questions that were not fitted, if there are any.
    part = figures.get("evaluated", figures["fitted"])
    for name in ("reliability", "risk_coverage"):
      draw = getattr(calibration_plots, f"{name}_figure")
      figure = draw({s: part[s][name] for s in ("before", "after")})
      contents[f"{name}.png"] = calibration_plots.png_bytes(figure)
  paths, _ = write_files(options.output_dir, contents)
  # Last: a model is changed only after everything else has succeeded.
  span_config.update_decoder(options.model, values)
  print(f"Written: {', '.join(paths)}", file=sys.stderr)


def _saved_decoder_options(options):
  """Returns the `DecoderOptions` of a model, which it checks."""
  model, version_2 = options.model, options.version_2_with_negative
  if span_config.find_embedded_model(model) != model:
    raise ValueError(
      f"model={model} comes with the package or from a hub and is not "
      f'changed. Copy it: SpanExtractor.from_preset("{model}")'
      ".save_to_preset(DIR)."
    )
  saved = span_config.read_span_config(model)
  if saved is None:
    raise ValueError(
      f"model={model} has no {span_config.TASK_FILE} of bert_span. Save it by "
      "SpanExtractor.save_to_preset."
    )
  extractor_class = find_extractor_class(saved["head"])
  path = os.path.join(model, span_config.TASK_FILE)
  decoder_options = options_from_json(
    extractor_class.decoder_class.options_type,
    saved["decoder"],
    f"{path}, decoder_options",
  )
  if version_2 is not None:
    decoder_options = dataclasses.replace(
      decoder_options, version_2_with_negative=version_2
    )
  try:
    check_calibration(
      extractor_class,
      decoder_options,
      options.target_precision,
      options.target_answered,
    )
  except ValueError as error:
    raise ValueError(f"{error} (model={model})") from error
  return decoder_options
