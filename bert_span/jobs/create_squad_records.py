"""What create_squad_records and inspect_windows do: windows of SQuAD files."""

import json

from bert_span.data import training_records
from bert_span.data.labelled_windows import label_windows
from bert_span.data.preprocessor import SpanPreprocessor
from bert_span.data.window_batches import window_rows
from bert_span.squad.reader import read_file_or_tfds, read_squad
from bert_span.squad.rules import prediction_examples, training_examples
from bert_span.storage.atomic_file import write_lines
from bert_span.storage.log import log_line
from bert_span.text.vocabulary import load_vocabulary


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
  preprocessor = preprocessor_class(
    load_vocabulary(vocab_file), do_lower_case, window_options
  )
  squad_file, version_2 = read_squad(input_file), version_2_with_negative
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


def write_squad_records(
  train_file,
  dataset,
  output_dir,
  source,
  window_options,
  version_2_with_negative=False,
  preprocessor_class=SpanPreprocessor,
  annotator_labels="soft",
  drop_answerless_windows=False,
  num_shards=8,
  pad_records=False,
):
  """Writes labelled windows, with the tokens of an `EncoderSource`."""
  version_2 = version_2_with_negative
  squad_file = read_file_or_tfds(train_file, dataset)
  examples = training_examples(
    squad_file, version_2, preprocessor_class.every_annotator
  )
  log_line(*squad_file.report.lines())
  # The vocabulary that run_squad has with the same source.
  if source.preset:
    loaded = source.load()
    vocabulary = loaded.vocabulary(source.vocab_file)
    lower_case = source.lower_case(loaded)
  else:
    vocabulary = load_vocabulary(source.vocab_file)
    lower_case = source.do_lower_case is not False
  preprocessor = preprocessor_class(vocabulary, lower_case, window_options)
  options = (annotator_labels, drop_answerless_windows)
  training_set = label_windows(examples, preprocessor, *options)
  log_line(*training_set.skipped.lines())
  manifest = training_records.write_training_records(
    output_dir,
    training_set,
    training_records.window_fingerprint(preprocessor, version_2, *options),
    training_records.source_fingerprint(train_file, dataset),
    num_shards,
    window_options.max_seq_length if pad_records else None,
  )
  log_line(
    f"{len(training_set.windows)} windows of {training_set.num_examples} "
    f"questions in {num_shards} files, listed in {manifest}"
  )
