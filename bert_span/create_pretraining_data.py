r"""Writes masked text as TFRecords, for pre-training on TPU pods.

  python -m bert_span.create_pretraining_data --input_file='wiki/*.txt.gz' \
    --vocab_file=vocab.txt --max_seq_length=512 --dupe_factor=10 \
    --output_file=gs://bucket/wiki-0.tfrecord,gs://bucket/wiki-1.tfrecord

The masks are drawn here, anew for each of --dupe_factor copies. Several
machines share the input files by --num_workers and --worker, each with other
output files. Beside x.tfrecord, x.tfrecord.json has the number of records, so
that run_pretraining notices a file that was cut off; copy both. On a CPU or GPU
bert_span.run_pretraining reads text itself and needs no records.
"""

import dataclasses

from bert_span.cli.program import program
from bert_span.options.fields import REQUIRED, option
from bert_span.pretraining.options import CopiesOptions, MaskedTextOptions
from bert_span.storage.options import FileOptions

# As in record_files.is_record_file, whose module loads TensorFlow.
_ENDINGS = (".tfrecord", ".tfrecords", ".tfrecord.gz", ".tfrecords.gz")


@dataclasses.dataclass(frozen=True, kw_only=True)
class CreatePretrainingDataOptions(
  MaskedTextOptions, CopiesOptions, FileOptions
):
  """The options of `jobs.create_pretraining_data.create_pretraining_data`."""

  output_file: tuple[str, ...] = option(
    REQUIRED,
    "Record files to write, separated by commas, named *.tfrecord or "
    "*.tfrecord.gz; each gets an equal part of the sequences.",
    is_output=True,
    writes=(".json",),
  )
  num_workers: int = option(
    1, "Number of processes that share the input files.", minimum=1
  )
  worker: int = option(
    0, "Number of this process among num_workers, from 0.", minimum=0
  )

  def __post_init__(self):
    super().__post_init__()
    for path in self.output_file:
      if not path.endswith(_ENDINGS):
        raise ValueError(
          f"output_file={path} must end in .tfrecord or .tfrecord.gz, or "
          "run_pretraining would read it as text."
        )
    if self.worker >= self.num_workers:
      raise ValueError(
        f"worker={self.worker} must be below num_workers={self.num_workers}."
      )


run = program(
  CreatePretrainingDataOptions,
  "bert_span.jobs.create_pretraining_data:create_pretraining_data",
)

if __name__ == "__main__":
  run()
