r"""Writes masked text as TFRecords, for pre-training on TPU pods.

  python -m bert_span.create_pretraining_data --input_file='wiki/*.txt.gz' \
    --vocab_file=vocab.txt --max_seq_length=512 --dupe_factor=10 \
    --output_file=gs://bucket/wiki-0.tfrecord,gs://bucket/wiki-1.tfrecord

Each of the --dupe_factor copies of the text gets other masks. Several machines
can share the input files by --num_workers and --worker, and each writes its own
output files. On a CPU or GPU bert_span.run_pretraining reads text directly and
needs no records.
"""

from absl import flags

from bert_span.cli import model_flags, pretraining_flags, program
from bert_span.cli.tensorflow_import import import_tensorflow

_OUTPUT_FILE = flags.DEFINE_string(
  "output_file",
  None,
  "Record files to write, separated by commas, named *.tfrecord or "
  "*.tfrecord.gz; the sequences go to them in turn.",
)
_DUPE_FACTOR = flags.DEFINE_integer(
  "dupe_factor",
  10,
  "Copies of the text, each masked anew.",
  lower_bound=1,
)
_NUM_WORKERS = flags.DEFINE_integer(
  "num_workers", 1, "Processes that share the input files.", lower_bound=1
)
_WORKER = flags.DEFINE_integer(
  "worker",
  0,
  "Number of this process among --num_workers, from 0.",
  lower_bound=0,
)
_VOCABULARY = model_flags.vocabulary_flags()
pretraining_flags.text_flags()
_MASKING = pretraining_flags.masking_flags()


def main(argv):
  """Checks the flags and writes the records."""
  program.refuse_arguments(argv)
  _check_flags()
  # Seconds: only once the flags are known to be right.
  import_tensorflow()
  from bert_span.jobs.records import pretraining_records

  pretraining_records.write_masked_text(
    pretraining_flags.text_flags().options(),
    _output_files(),
    _VOCABULARY.vocab_file.value,
    _VOCABULARY.do_lower_case.value,
    _MASKING.max_seq_length.value,
    pretraining_flags.masking_options(),
    _DUPE_FACTOR.value,
    _NUM_WORKERS.value,
    _WORKER.value,
  )


def run():
  """Entry point of the installed command."""
  program.run_program(main)


def _output_files():
  return [path for path in _OUTPUT_FILE.value.split(",") if path]


def _check_flags():
  check = program.check
  pretraining_flags.check_text_flags()
  check(_OUTPUT_FILE.value, "--output_file is required.")
  check(
    _VOCABULARY.vocab_file.value,
    "--vocab_file is required: the vocab.txt of the model.",
  )
  # As record_files.is_record_file, whose module loads TensorFlow.
  endings = (".tfrecord", ".tfrecords", ".tfrecord.gz", ".tfrecords.gz")
  wrong = [path for path in _output_files() if not path.endswith(endings)]
  check(
    not wrong,
    "--output_file must name files that end in .tfrecord or .tfrecord.gz, "
    "the endings by which run_pretraining recognizes records. Received: "
    f"{', '.join(wrong)}",
  )
  check(
    _WORKER.value < _NUM_WORKERS.value,
    f"--worker ({_WORKER.value}) must be below --num_workers "
    f"({_NUM_WORKERS.value}).",
  )


if __name__ == "__main__":
  run()
