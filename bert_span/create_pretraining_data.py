r"""Writes masked text as TFRecords, for pre-training on TPU pods.

  python -m bert_span.create_pretraining_data --input_file='wiki/*.txt.gz' \
    --vocab_file=vocab.txt --max_seq_length=512 --dupe_factor=10 \
    --output_file=gs://bucket/wiki-0.tfrecord,gs://bucket/wiki-1.tfrecord

The masks are drawn here, anew for each of --dupe_factor copies. Several
machines share the input files by --num_workers and --worker, each with its own
output files. x.tfrecord.json, beside x.tfrecord, has the number of its records,
by which run_pretraining notices a file that was cut off; copy both. On a CPU or
GPU bert_span.run_pretraining reads text itself and needs no records.
"""

from absl import flags

from bert_span.cli import pretraining_flags, program

_OUTPUT_FILES = flags.DEFINE_list(
  "output_file",
  [],
  "Record files to write, separated by commas, named *.tfrecord or "
  "*.tfrecord.gz; the sequences are dealt to them in turn.",
)
_, _DUPE_FACTOR, _NUM_WORKERS, _WORKER = (
  pretraining_flags.define_masked_text_flags(
    "dupe_factor", "num_workers", "worker"
  )
)
# As record_files.is_record_file, which loads TensorFlow.
_ENDINGS = (".tfrecord", ".tfrecords", ".tfrecord.gz", ".tfrecords.gz")


@program.entry_point
def run(argv):
  program.require(_OUTPUT_FILES)
  text_options = pretraining_flags.masked_text()
  for path in _OUTPUT_FILES.value:
    if not path.endswith(_ENDINGS):
      raise ValueError(
        f"--output_file={path} must end in .tfrecord or .tfrecord.gz, by which "
        "run_pretraining knows it."
      )
  if _WORKER.value >= _NUM_WORKERS.value:
    raise ValueError(
      f"--worker={_WORKER.value} must be below "
      f"--num_workers={_NUM_WORKERS.value}."
    )
  program.import_tensorflow()
  from bert_span.jobs import create_pretraining_data

  create_pretraining_data.write_masked_text(
    _OUTPUT_FILES.value,
    dupe_factor=_DUPE_FACTOR.value,
    num_workers=_NUM_WORKERS.value,
    worker=_WORKER.value,
    **text_options,
  )


if __name__ == "__main__":
  run()
