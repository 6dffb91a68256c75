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

from bert_span.cli import (
  beam_flags,
  model_flags,
  pretraining_flags,
  program,
  training_flags,
)
from bert_span.cli.tensorflow_import import import_tensorflow

_SQUAD, _PRETRAINING = "squad", "pretraining"
_OUTPUT_DIR = model_flags.output_dir_flag()
_VOCABULARY = model_flags.vocabulary_flags()
_NUM_SHARDS = flags.DEFINE_integer(
  "num_shards", 8, "Record files; a worker makes one at a time.", lower_bound=1
)


def main(argv):
  """Checks the flags and makes what the first word asks for."""
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
  is_squad = words[0] == _SQUAD
  if is_squad:
    data = training_flags.train_data_flags()
    program.check(
      data.train_file.value and not data.dataset.value,
      "--train_file is required; --dataset is for create_squad_records.",
    )
  else:
    pretraining_flags.check_text_flags()
  # Seconds: only once the flags are known to be right.
  import_tensorflow()
  from bert_span.jobs.records import beam_records

  shared = {
    "pipeline_options": options,
    "vocab_file": _VOCABULARY.vocab_file.value,
    "directory": _OUTPUT_DIR.value,
    "count": _NUM_SHARDS.value,
    "do_lower_case": _VOCABULARY.do_lower_case.value,
  }
  if is_squad:
    beam_records.make_squad_records(**shared, **_squad_values())
  else:
    beam_records.make_pretraining_records(**shared, **_pretraining_values())


def run():
  """Entry point of the installed command."""
  # The two have flags of the same names, so only those of one are defined.
  kind = sys.argv[1] if len(sys.argv) > 1 else ""
  define = {_SQUAD: _squad_flags, _PRETRAINING: _pretraining_flags}.get(kind)
  if define:
    define()
  program.run_program(main, foreign_flags=True)


def _squad_flags():
  """Defines the flags of create_squad_records."""
  flags.DEFINE_bool(
    "pad_records",
    False,
    "Whether every record is padded to --max_seq_length, as the original's.",
  )
  training_flags.train_data_flags()
  model_flags.version_2_flag()
  model_flags.head_flag()
  training_flags.fine_tuning_flags(
    "annotator_labels", "drop_answerless_windows"
  )
  model_flags.window_flags()


def _pretraining_flags():
  """Defines the flags of create_pretraining_data."""
  flags.DEFINE_integer(
    "dupe_factor", 10, "Copies of the text, each masked anew.", lower_bound=1
  )
  pretraining_flags.text_flags()
  pretraining_flags.masking_flags()


def _squad_values():
  """What the flags say of `SquadRecordShards`."""
  data = training_flags.train_data_flags()
  labels = training_flags.fine_tuning_flags(
    "annotator_labels", "drop_answerless_windows"
  )
  window_options = model_flags.window_options()
  padded_length = window_options.max_seq_length
  return {
    "train_file": data.train_file.value,
    "version_2": model_flags.version_2_flag().value,
    "labels": model_flags.answer_head(model_flags.head_flag().value).labels,
    "window_options": window_options,
    "annotator_labels": labels.annotator_labels.value,
    "drop_answerless": labels.drop_answerless_windows.value,
    "padded_length": padded_length if flags.FLAGS.pad_records else None,
  }


def _pretraining_values():
  """What the flags say of `PretrainingRecordShards`."""
  return {
    "text": pretraining_flags.text_flags().options(),
    "max_seq_length": pretraining_flags.masking_flags().max_seq_length.value,
    "options": pretraining_flags.masking_options(),
    "copies": flags.FLAGS.dupe_factor,
  }


if __name__ == "__main__":
  run()
