"""What export_saved_model does: writes a version of a served model."""

import os
import sys
import typing

from bert_span.answers.decoding.options import StepOptions
from bert_span.extractors.loading import load_extractor
from bert_span.serving import export, version_folder
from bert_span.serving.commands import serving_commands
from bert_span.serving.warmup import check_warmup
from bert_span.storage.log import log_line

if typing.TYPE_CHECKING:
  from export.export_saved_model import ExportSavedModelOptions


def export_saved_model(options: "ExportSavedModelOptions"):
  """Exports a model, prints what was written, and returns its path."""
  # Before the model is loaded, so that a missing package is reported first.
  version_folder.check_version(options.output, options.version)
  with_warmup = check_warmup(options.with_warmup)
  log_line(f"Loading {options.model} ...")
  extractor = load_extractor(options, fixed_length=options.fixed_length)
  path, verified = export.export_saved_model(
    extractor,
    options.output,
    version=options.version,
    steps=StepOptions.of(options),
    dtype=options.dtype,
    with_warmup=with_warmup,
    source=options.model,
    proof=options.proof,
  )
  print(f"The server needs tensorflow-text's {', '.join(verified.text_ops)}")
  print(
    f"{verified.num_questions} answers in a fresh process equal the model's; "
    f"scores differ by at most {verified.largest_difference:.1e}."
  )
  print(f"Written: {path}", file=sys.stderr)
  docker, curl = serving_commands(os.path.dirname(path))
  print(f"Serve it:\n  {docker}\nAsk it:\n  {curl}")
  return path
