"""What export_tflite does: a checked TFLite file of a model directory."""

import sys
import typing

from bert_span.extractors.loading import load_extractor
from bert_span.squad.reader import read_squad
from bert_span.storage.log import log_line
from bert_span.tflite import export
from bert_span.tflite.options import ModelInfo, TFLiteOptions
from bert_span.tflite.port_vectors import vector_examples, write_port_vectors

if typing.TYPE_CHECKING:
  from export.export_tflite import ExportTfliteOptions


def export_tflite(options: "ExportTfliteOptions"):
  """Exports a model, prints the report, and returns it."""
  path, test_vectors = options.output, options.test_vectors
  evaluated = options.evaluate_file and read_squad(options.evaluate_file)
  log_line(f"Loading {options.model} ...")
  report = export.export_tflite(
    load_extractor(options),
    path,
    TFLiteOptions.of(options, info=ModelInfo.of(options)),
    evaluated,
    source=options.model,
    proof=options.proof,
  )
  print(export.format_export_report(report), end="")
  print(f"Written: {path}", file=sys.stderr)
  if test_vectors:
    log_line("Writing test vectors ...")
    write_port_vectors(path, vector_examples(), test_vectors)
    print(f"Written: {test_vectors}", file=sys.stderr)
  return report
