r"""Writes masked text as TFRecords on many machines, by Apache Beam.

  python -m bert_span.beam_create_records pretraining \
    --input_file='wiki/*.txt.gz' --vocab_file=$BERT/vocab.txt \
    --output_dir=gs://bucket/wiki --num_shards=64

The records, for run_pretraining, are those of create_pretraining_data with
--num_workers=64, one shard for each worker. Flags of that program and Beam's
options, such as --runner=DataflowRunner, are given on the same command line.
The same command continues a run that was stopped; it skips shards that exist.
"""

import dataclasses

from bert_span.beam.options import BeamOptions, ShardsOptions
from bert_span.cli.program import program
from bert_span.options.fields import REQUIRED, WORD, changed, option
from bert_span.pretraining.options import CopiesOptions, MaskedTextOptions
from bert_span.storage.options import FileOptions, OutputFolder


@dataclasses.dataclass(frozen=True, kw_only=True)
class BeamCreateRecordsOptions(
  MaskedTextOptions, CopiesOptions, ShardsOptions, BeamOptions, FileOptions
):
  """The options of `bert_span.jobs.beam_create_records.beam_create_records`."""

  records: str = option(
    REQUIRED,
    "What the records are for, the first word of the command line.",
    choices=("pretraining",),
    flag=WORD,
  )
  output_dir: str = changed(
    OutputFolder,
    "output_dir",
    writes={None: ("job.json", r"masked-\d{5}-of-\d{5}\.tfrecord(\.json)?")},
  )


run = program(
  BeamCreateRecordsOptions,
  "bert_span.jobs.beam_create_records:beam_create_records",
)

if __name__ == "__main__":
  run()
