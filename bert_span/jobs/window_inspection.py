"""What inspect_windows does: shows the windows that a SQuAD file becomes."""

import json

from bert_span.data.window_rows import bio_window_rows, window_rows
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
  is_training=False,
  version_2=False,
  head="span",
  annotator_labels="soft",
  output_file=None,
):
  """Writes the windows of a SQuAD file as JSON lines.

  Args:
    input_file: SQuAD JSON file.
    vocab_file: vocab.txt of the model.
    do_lower_case: lower-case the text and strip accents.
    window_options: `WindowOptions`; None for the defaults.
    is_training: label the windows, and leave out questions that cannot be
      trained on.
    version_2: whether questions may have no answer.
    head: "span" or "bio", which decides on the labels.
    annotator_labels: see `bio_window_rows`.
    output_file: path that gets the lines; None prints them.

  Raises:
    OSError: a file cannot be read.
    ValueError: a file is malformed.
  """
  preprocessor = SpanPreprocessor(
    load_vocabulary(vocab_file), do_lower_case, window_options
  )
  has_tags = head == "bio" and is_training
  squad_file = read_squad(input_file)
  if is_training:
    examples = training_examples(squad_file, version_2, has_tags)
  else:
    examples = prediction_examples(squad_file, version_2)
  for line in squad_file.report.lines():
    log_line(line)
  if has_tags:
    rows = bio_window_rows(examples, preprocessor, annotator_labels)
  else:
    rows = window_rows(examples, preprocessor, is_training)
  lines = map(json.dumps, rows)
  if output_file:
    write_lines(output_file, lines)
  else:
    print_lines(lines)
