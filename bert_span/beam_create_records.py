r"""Makes TFRecords for training on many machines, as an Apache Beam pipeline.

  python -m bert_span.beam_create_records squad --train_file=train-v1.1.json \
    --vocab_file=$BERT/vocab.txt --output_dir=gs://bucket/squad-384
  python -m bert_span.beam_create_records pretraining \
    --input_file='wiki/*.txt.gz' --vocab_file=$BERT/vocab.txt \
    --output_dir=gs://bucket/wiki

The first makes what create_squad_records makes, for run_squad --train_records:
the same windows in the same order. The second makes what
create_pretraining_data makes as one of --num_shards workers, for
run_pretraining. Flags are those of these programs; Beam's own options are given
on the same command line. Shards that are done are not made again by the same
command. `squad --help` and `pretraining --help` list the flags.
"""

import sys

from absl import flags

from bert_span.cli import beam_flags, model_flags, program

_SQUAD, _PRETRAINING = "squad", "pretraining"
_OUTPUT_DIR = model_flags.output_dir_flag()
_VOCABULARY = model_flags.vocabulary_flags()
_NUM_SHARDS = flags.DEFINE_integer(
  "num_shards", 8, "Record files; a worker makes one at a time.", lower_bound=1
)


def main(argv):
  """Builds the pipeline of what the first word asks for, and runs it."""
  name, *words = argv
  program.check(
    words and words[0] in (_SQUAD, _PRETRAINING),
    "Say what to make: beam_create_records squad, or pretraining.",
  )
  program.check(_OUTPUT_DIR.value, "--output_dir is required.")
  program.check(
    _VOCABULARY.vocab_file.value,
    "--vocab_file is required: the vocab.txt of the model.",
  )
  beam_flags.check_beam_installed()
  options = beam_flags.pipeline_options([name, *words[1:]])
  if words[0] == _SQUAD:
    _make_squad_records(options)
  else:
    _make_pretraining_records(options)


def run():
  """Entry point of the installed command."""
  # The two have flags of the same names, so only those of one are defined.
  kind = sys.argv[1] if len(sys.argv) > 1 else ""
  define = {_SQUAD: _squad_flags, _PRETRAINING: _pretraining_flags}.get(kind)
  if define:
    define()
  flags.adopt_module_key_flags(model_flags)
  program.run_program(main, foreign_flags=True)


def _squad_flags():
  """Defines the flags of create_squad_records."""
  from bert_span.cli import training_flags

  flags.DEFINE_bool(
    "pad_records",
    False,
    "Whether every record is padded to --max_seq_length, as the original's.",
  )
  training_flags.train_data_flags()
  model_flags.version_2_flag()
  model_flags.head_flag()
  model_flags.annotator_labels_flag()
  model_flags.window_flags()
  flags.adopt_module_key_flags(training_flags)


def _pretraining_flags():
  """Defines the flags of create_pretraining_data."""
  from bert_span.cli import pretraining_flags

  flags.DEFINE_integer(
    "dupe_factor", 10, "Copies of the text, each masked anew.", lower_bound=1
  )
  pretraining_flags.text_flags()
  pretraining_flags.masking_flags()
  flags.adopt_module_key_flags(pretraining_flags)


def _make_squad_records(options):
  from bert_span.cli import training_flags

  data = training_flags.train_data_flags()
  program.check(
    data.train_file.value and not data.dataset.value,
    "--train_file is required; --dataset is for create_squad_records.",
  )
  from bert_span.beam.record_shards import SquadRecordShards
  from bert_span.data.labelled_windows import left_out_lines
  from bert_span.storage.log import log_line

  window_options = model_flags.window_options()
  shards = SquadRecordShards(
    directory=_OUTPUT_DIR.value,
    count=_NUM_SHARDS.value,
    train_file=data.train_file.value,
    version_2=model_flags.version_2_flag().value,
    head=model_flags.head_flag().value,
    vocabulary=_vocabulary(),
    do_lower_case=_VOCABULARY.do_lower_case.value,
    window_options=window_options,
    annotator_labels=model_flags.annotator_labels_flag().value,
    drop_answerless=data.drop_answerless_windows.value,
    padded_length=(
      window_options.max_seq_length if flags.FLAGS.pad_records else None
    ),
  )
  for line in shards.check():
    log_line(line)
  _run(shards, options)
  manifest, left_out = shards.finish()
  for line in left_out_lines(left_out):
    log_line(line)
  log_line(f"The records are listed in {manifest}")


def _make_pretraining_records(options):
  import dataclasses

  from bert_span.cli import pretraining_flags

  pretraining_flags.check_text_flags()
  from bert_span.beam import job_record
  from bert_span.beam.record_shards import PretrainingRecordShards
  from bert_span.pretraining.corpus.text_sources import sources_of_worker

  sources = pretraining_flags.text_sources()
  sources_of_worker(sources, _NUM_SHARDS.value, 0)  # enough files?
  shards = PretrainingRecordShards(
    directory=_OUTPUT_DIR.value,
    count=_NUM_SHARDS.value,
    sources=tuple(sources),
    vocabulary=_vocabulary(),
    do_lower_case=_VOCABULARY.do_lower_case.value,
    max_seq_length=pretraining_flags.masking_flags().max_seq_length.value,
    options=pretraining_flags.masking_options(),
    copies=flags.FLAGS.dupe_factor,
  )
  made_of = dataclasses.asdict(shards)
  del made_of["directory"]
  job_record.begin_or_continue(_OUTPUT_DIR.value, job_record.as_json(made_of))
  _run(shards, options)


def _run(shards, options):
  """Makes the shards that are missing."""
  import apache_beam as beam

  from bert_span.beam.prediction_pipeline import counters
  from bert_span.beam.record_pipeline import add_record_steps
  from bert_span.storage.log import log_line

  pipeline = beam.Pipeline(options=options)
  add_record_steps(pipeline, shards)
  result = pipeline.run()
  result.wait_until_finish()
  numbers = counters(result)
  log_line(
    f"{numbers.get('shards_written', 0)} of {shards.count} shards written, "
    f"with {numbers.get('records_written', 0)} records; the others stood in "
    f"{shards.directory} already."
  )


def _vocabulary():
  from bert_span.text.vocabulary import load_vocabulary

  return tuple(load_vocabulary(_VOCABULARY.vocab_file.value))


if __name__ == "__main__":
  run()
