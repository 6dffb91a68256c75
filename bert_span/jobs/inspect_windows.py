"""What inspect_windows does: shows the windows of a SQuAD file."""

import json
import typing

from bert_span.data.window_batches import window_rows
from bert_span.extractors.loading import extractor_class_of
from bert_span.presets.vocabulary_files import load_vocabulary
from bert_span.squad.reader import read_squad
from bert_span.squad.rules import prediction_examples, training_examples
from bert_span.storage.atomic_file import write_lines
from bert_span.storage.log import log_line
from bert_span.text.options import WindowOptions

if typing.TYPE_CHECKING:
  from bert_span.inspect_windows import InspectWindowsOptions


def inspect_windows(options: "InspectWindowsOptions"):
  """Writes the windows of a SQuAD file as JSON lines."""
  squad_file = read_squad(options.input_file)
  version_2 = options.version_2_with_negative
  preprocessor = extractor_class_of(options).preprocessor_class(
    load_vocabulary(options.vocab_file),
    options.do_lower_case,
    WindowOptions.of(options),
  )
  if options.is_training:
    examples = training_examples(
      squad_file, version_2, preprocessor.every_annotator
    )
  else:
    examples = prediction_examples(squad_file, version_2)
  log_line(*squad_file.report.lines())
  rows = window_rows(
    examples, preprocessor, options.is_training, options.annotator_labels
  )
  lines = map(json.dumps, rows)
  if options.output_file != "-":
    write_lines(options.output_file, lines)
    return
  for line in lines:
    print(line, flush=True)
