r"""Writes the training windows of a SQuAD file as TFRecords.

  python -m bert_span.create_squad_records --train_file=train-v1.1.json \
    --vocab_file=$BERT/vocab.txt --output_dir=gs://bucket/squad-384
  python -m bert_span.run_squad --do_train \
    --train_records=gs://bucket/squad-384 ...

Training on records gives the same batches and the same weights as training on
the file. They save the time that tokens and windows take, once for all runs and
all machines. Flags that decide what the windows hold are run_squad's; records
that were made with other ones, of another vocabulary or of another file are
refused there.

With --pad_records they are read by program that read the original's
train.tf_record, too.
"""

from absl import flags

from bert_span.cli import model_flags, program, training_flags

_NUM_SHARDS = flags.DEFINE_integer(
  "num_shards",
  8,
  "Files that the windows are dealt into.",
  lower_bound=1,
  upper_bound=99_999,
)
_PAD_RECORDS = flags.DEFINE_bool(
  "pad_records",
  False,
  "Whether every record is padded to --max_seq_length, as the original's.",
)
_DATA = training_flags.train_data_flags()
_OUTPUT_DIR = model_flags.output_dir_flag()
_VOCABULARY = model_flags.vocabulary_flags()
_VERSION_2 = model_flags.version_2_flag()
_HEAD = model_flags.head_flag()
_ANNOTATOR_LABELS = model_flags.annotator_labels_flag()
_MODEL = training_flags.encoder_flags()
model_flags.window_flags()
# --help lists the flags of this module only, and those named here.
flags.adopt_module_key_flags(model_flags)
flags.adopt_module_key_flags(training_flags)


def main(argv):
  """Reads the questions, makes their windows and writes them."""
  program.refuse_arguments(argv)
  _check_flags()
  # Seconds: only once the flags are known to be right.
  from bert_span.data import training_records
  from bert_span.data.labelled_windows import left_out_lines, make_training_set
  from bert_span.storage.log import log_line

  source = (_DATA.train_file.value, training_flags.dataset_split("train"))
  examples = _examples(source, log_line)
  preprocessor = _preprocessor()
  options = (_ANNOTATOR_LABELS.value, _DATA.drop_answerless_windows.value)
  training_set = make_training_set(
    examples, preprocessor, _HEAD.value, *options
  )
  for line in left_out_lines(training_set.left_out):
    log_line(line)
  manifest = training_records.write_training_records(
    _OUTPUT_DIR.value,
    training_set,
    training_records.window_fingerprint(
      preprocessor, _HEAD.value, _VERSION_2.value, *options
    ),
    training_records.source_fingerprint(*source),
    _NUM_SHARDS.value,
    preprocessor.options.max_seq_length if _PAD_RECORDS.value else None,
  )
  log_line(
    f"{len(training_set.windows)} windows of {training_set.num_examples} "
    f"questions in {_NUM_SHARDS.value} files, listed in {manifest}"
  )


def run():
  """Entry point of the installed command."""
  program.run_program(main)


def _examples(source, log):
  """The questions to train on; reports what was noticed about them."""
  from bert_span.jobs import squad_job
  from bert_span.squad.rules import training_examples

  squad_file = squad_job.read(*source)
  examples = training_examples(
    squad_file, _VERSION_2.value, every_annotator=_HEAD.value == "bio"
  )
  for line in squad_file.report.lines():
    log(line)
  return examples


def _preprocessor():
  """The `SpanPreprocessor` that run_squad has under the same flags."""
  from bert_span.text.preprocessor import SpanPreprocessor
  from bert_span.text.vocabulary import load_vocabulary

  if _MODEL.preset.value:
    source = training_flags.encoder_source()
    loaded = source.load()
    vocabulary, lower_case = (
      source.vocabulary(loaded),
      source.lower_case(loaded),
    )
  else:
    vocabulary = load_vocabulary(_VOCABULARY.vocab_file.value)
    lower_case = _VOCABULARY.do_lower_case.value
  return SpanPreprocessor(vocabulary, lower_case, model_flags.window_options())


def _check_flags():
  check = program.check
  check(_OUTPUT_DIR.value, "--output_dir is required.")
  check(
    bool(_DATA.train_file.value) != bool(_DATA.dataset.value),
    "Give the questions as --train_file or as --dataset, one of the two.",
  )
  check(
    _MODEL.preset.value or _VOCABULARY.vocab_file.value,
    "A vocabulary is needed: --vocab_file, or --preset of the model to train.",
  )
  training_flags.check_model_flags(needs_model=False)


if __name__ == "__main__":
  run()
