r"""Writes masked text as TFRecords, for pre-training on TPU pods.

  python -m bert_span.create_pretraining_data --input_file='wiki/*.txt.gz' \
    --vocab_file=vocab.txt --max_seq_length=512 --dupe_factor=10 \
    --output_file=gs://bucket/wiki-0.tfrecord,gs://bucket/wiki-1.tfrecord

The masks are drawn here, anew for each of --dupe_factor copies. Several
machines share the input files by --num_workers and --worker, each with its own
output files. On a CPU or GPU bert_span.run_pretraining reads text itself and
needs no records.
"""

from absl import flags

from bert_span.cli import model_flags, pretraining_flags, program
from bert_span.cli.tensorflow_import import import_tensorflow

_OUTPUT_FILE = flags.DEFINE_string(
  "output_file",
  None,
  "Record files to write, separated by commas, named *.tfrecord or "
  "*.tfrecord.gz; the sequences are dealt to them in turn.",
)
_DUPE_FACTOR = pretraining_flags.dupe_factor_flag()
_NUM_WORKERS = flags.DEFINE_integer(
  "num_workers",
  1,
  "Number of processes that share the input files.",
  lower_bound=1,
)
_WORKER = flags.DEFINE_integer(
  "worker",
  0,
  "Number of this process among --num_workers, from 0.",
  lower_bound=0,
)
_VOCABULARY = model_flags.vocabulary_flags()
_TEXT = pretraining_flags.text_flags()
_MASKING = pretraining_flags.masking_flags()
# As record_files.is_record_file, which loads TensorFlow.
_ENDINGS = (".tfrecord", ".tfrecords", ".tfrecord.gz", ".tfrecords.gz")


def main(argv):
  """Checks the flags and writes the records."""
  pretraining_flags.check_text_flags()
  program.require(_OUTPUT_FILE, _VOCABULARY.vocab_file)
  output_files = [path for path in _OUTPUT_FILE.value.split(",") if path]
  wrong = [path for path in output_files if not path.endswith(_ENDINGS)]
  program.check(
    not wrong,
    "--output_file must name files that end in .tfrecord or .tfrecord.gz, by "
    f"which run_pretraining knows them. Received: {', '.join(wrong)}",
  )
  program.check(
    _WORKER.value < _NUM_WORKERS.value,
    f"--worker ({_WORKER.value}) must be below --num_workers "
    f"({_NUM_WORKERS.value}).",
  )
  import_tensorflow()
  from bert_span.jobs.records import pretraining_records

  pretraining_records.write_masked_text(
    _TEXT.options(),
    output_files,
    _VOCABULARY.vocab_file.value,
    _VOCABULARY.do_lower_case.value,
    _MASKING.max_seq_length.value,
    pretraining_flags.masking_options(),
    _DUPE_FACTOR.value,
    _NUM_WORKERS.value,
    _WORKER.value,
  )


run = program.entry_point(main)

if __name__ == "__main__":
  run()
