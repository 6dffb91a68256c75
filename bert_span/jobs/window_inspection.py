"""What inspect_windows does: writes the windows of a SQuAD file."""

import json

from bert_span.data.window_rows import window_rows
from bert_span.jobs.lines import print_lines, write_lines
from bert_span.squad.reader import read_squad
from bert_span.squad.rules import prediction_examples, training_examples
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

  Args:
    input_file: SQuAD JSON file.
    vocab_file: vocab.txt of the model.
    do_lower_case: lower-case the text and strip accents.
    window_options: `WindowOptions`; None for the defaults.
    labels: `WindowLabels`, which also skips questions that cannot be trained
      on; None for no labels.
    version_2: whether questions may have no answer.
    annotator_labels: see `tag_labels`.
    output_file: path that gets the lines; None prints them.

  Raises:
    OSError: a file cannot be read.
    ValueError: a file is malformed.
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
  else:
    print_lines(lines)
