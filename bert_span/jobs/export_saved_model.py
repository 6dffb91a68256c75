"""What export_saved_model does: writes a version of a served model."""

import sys

from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.serving import version_folder
from bert_span.serving.export import export_saved_model
from bert_span.serving.warmup import check_warmup
from bert_span.storage.log import log_line


def export_model(model, base, extractor_options=None, **options):
  """Exports by `export_saved_model` and prints what was written."""
  # Before the model is loaded, so that a missing package is reported first.
  version_folder.check_version(base, options.get("version"))
  options["with_warmup"] = check_warmup(options.get("with_warmup"))
  log_line(f"Loading {model} ...")
  extractor = SpanExtractor.from_preset(model, **(extractor_options or {}))
  path, verified = export_saved_model(extractor, base, source=model, **options)
  print(f"The server needs tensorflow-text's {', '.join(verified.text_ops)}")
  print(
    f"{verified.num_questions} answers in a fresh process equal the model's; "
    f"scores differ by at most {verified.largest_difference:.1e}."
  )
  print(f"Written: {path}", file=sys.stderr)
