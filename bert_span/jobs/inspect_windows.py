"""What inspect_windows does: shows the windows of a SQuAD file."""

import json

from bert_span.data.preprocessor import SpanPreprocessor
from bert_span.data.window_batches import window_rows
from bert_span.presets.vocabulary_files import load_vocabulary
from bert_span.squad.reader import read_squad
from bert_span.squad.rules import prediction_examples, training_examples
from bert_span.storage.atomic_file import write_lines
from bert_span.storage.log import log_line


def inspect_windows(
  input_file,
  vocab_file,
  do_lower_case=True,
  window_options=None,
  preprocessor_class=SpanPreprocessor,
  is_training=False,
  version_2_with_negative=False,
  annotator_labels="soft",
  output_file=None,
):
  """Writes the windows of a SQuAD file, labelled in training, as JSON lines."""
  squad_file, version_2 = read_squad(input_file), version_2_with_negative
  preprocessor = preprocessor_class(
    load_vocabulary(vocab_file), do_lower_case, window_options
  )
  if is_training:
    examples = training_examples(
      squad_file, version_2, preprocessor.every_annotator
    )
  else:
    examples = prediction_examples(squad_file, version_2)
  log_line(*squad_file.report.lines())
  rows = window_rows(examples, preprocessor, is_training, annotator_labels)
  lines = map(json.dumps, rows)
  if output_file:
    write_lines(output_file, lines)
    return
  for line in lines:
    print(line, flush=True)
