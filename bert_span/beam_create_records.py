r"""Writes masked text as TFRecords on many machines, by Apache Beam.

  python -m bert_span.beam_create_records pretraining \
    --input_file='wiki/*.txt.gz' --vocab_file=$BERT/vocab.txt \
    --output_dir=gs://bucket/wiki --num_shards=64

The records are those of create_pretraining_data with --num_workers=64, one
shard for each worker, for run_pretraining. Flags are those of that program;
Beam's own options, such as --runner=DataflowRunner, are given on the same
command line. A run that was stopped continues with the same command and skips
shards that exist.
"""

from bert_span.cli import model_flags, pretraining_flags, program

_OUTPUT_DIR, _NUM_SHARDS = model_flags.define_shared_flags(
  "output_dir", "num_shards"
)
_, _DUPE_FACTOR = pretraining_flags.define_masked_text_flags("dupe_factor")


@program.entry_point(foreign_flags=True)
def run(argv):
  name, *words = argv
  if words[:1] != ["pretraining"]:
    raise ValueError("The first word must be pretraining.")
  program.require(_OUTPUT_DIR)
  text = pretraining_flags.masked_text()
  options = program.beam_options([name, *words[1:]])
  program.import_tensorflow()
  from bert_span.jobs import beam_create_records

  beam_create_records.write_shards(
    options,
    output_dir=_OUTPUT_DIR.value,
    num_shards=_NUM_SHARDS.value,
    dupe_factor=_DUPE_FACTOR.value,
    **text,
  )


if __name__ == "__main__":
  run()
