"""What export_tflite does: a checked TFLite file of a model directory."""

import sys

from bert_span.extractors.extractor import Extractor
from bert_span.squad.reader import read_squad
from bert_span.storage.log import log_line
from bert_span.tflite.export import export_tflite, report_text
from bert_span.tflite.port_vectors import vector_examples, write_port_vectors


def export_file(
  model, path, evaluate_file, test_vectors, tflite_options, **options
):
  """Exports a model directory by `export_tflite` and prints the report."""
  evaluated = read_squad(evaluate_file) if evaluate_file else None
  log_line(f"Loading {model} ...")
  extractor = Extractor.from_preset(model, **options)
  report = export_tflite(extractor, path, tflite_options, evaluated, model)
  print(report_text(report), end="")
  print(f"Written: {path}", file=sys.stderr)
  if test_vectors:
    log_line("Writing test vectors ...")
    write_port_vectors(path, vector_examples(), test_vectors)
    print(f"Written: {test_vectors}", file=sys.stderr)
