"""What inspect_windows does: writes the windows of a SQuAD file."""

import json

from bert_span.data.window_batches import window_rows
from bert_span.squad.reader import read_squad
from bert_span.squad.rules import prediction_examples, training_examples
from bert_span.storage.atomic_file import write_lines
from bert_span.storage.log import log_line
from bert_span.text.preprocessor import SpanPreprocessor
from bert_span.text.vocabulary import load_vocabulary


def inspect_windows(
  input_file,
  vocab_file,
  do_lower_case=True,
  window_options=None,
  labels=None,
  version_2=False,
  annotator_labels="soft",
  output_file=None,
):
  """Writes the windows of a SQuAD file as JSON lines.

  With labels, a `WindowLabels`, the windows are labelled and questions that
  cannot be trained on are skipped. The other arguments are the flags of
  bert_span.inspect_windows; without output_file the lines are printed.
  """
  preprocessor = SpanPreprocessor(
    load_vocabulary(vocab_file), do_lower_case, window_options
  )
  squad_file = read_squad(input_file)
  if labels:
    examples = training_examples(squad_file, version_2, labels.every_annotator)
  else:
    examples = prediction_examples(squad_file, version_2)
  for line in squad_file.report.lines():
    log_line(line)
  rows = window_rows(examples, preprocessor, labels, annotator_labels)
  lines = map(json.dumps, rows)
  if output_file:
    write_lines(output_file, lines)
    return
  for line in lines:
    print(line, flush=True)
