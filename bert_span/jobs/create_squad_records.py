"""What create_squad_records does: writes labelled windows as records."""

from bert_span.data import training_records
from bert_span.data.labelled_windows import label_windows
from bert_span.data.preprocessor import SpanPreprocessor
from bert_span.squad.rules import training_examples
from bert_span.squad.tfds import read_file_or_tfds
from bert_span.storage.log import log_line
from bert_span.text.vocabulary import load_vocabulary


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
