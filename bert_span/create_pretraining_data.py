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

from bert_span.cli import pretraining_flags, program
from bert_span.cli.option_flags import OptionFlags
from bert_span.options.fields import option


class _Options:
  output_files: tuple[str, ...] = option(
    (),
    "Record files to write, separated by commas, named *.tfrecord or "
    "*.tfrecord.gz; the sequences are dealt to them in turn.",
    flag="output_file",
  )
  num_workers: int = option(
    1, "Number of processes that share the input files.", minimum=1
  )
  worker: int = option(
    0, "Number of this process among --num_workers, from 0.", minimum=0
  )


_OPTIONS = OptionFlags(_Options)
pretraining_flags.define_masked_text_flags("dupe_factor")
# As record_files.is_record_file, which loads TensorFlow.
_ENDINGS = (".tfrecord", ".tfrecords", ".tfrecord.gz", ".tfrecords.gz")


@program.entry_point
def run(argv):
  program.require(_OPTIONS.output_files)
  text_options = pretraining_flags.masked_text("dupe_factor")
  values = _OPTIONS.values()
  for path in values["output_files"]:
    if not path.endswith(_ENDINGS):
      raise ValueError(
        f"--output_file={path} must end in .tfrecord or .tfrecord.gz, by which "
        "run_pretraining knows it."
      )
  worker, num_workers = values["worker"], values["num_workers"]
  if worker >= num_workers:
    raise ValueError(
      f"--worker={worker} must be below --num_workers={num_workers}."
    )
  program.import_tensorflow()
  from bert_span.jobs import create_pretraining_data

  create_pretraining_data.write_masked_text(**values, **text_options)


if __name__ == "__main__":
  run()
