r"""Answers questions of many files, as an Apache Beam pipeline.

  python -m bert_span.beam_predict --model=output/model \
    --input='questions/*.jsonl' --output_dir=answers --num_shards=16

It runs on this machine. Beam's own options, such as --runner=FlinkRunner or
--runner=DataflowRunner --project=.., are given on the same command line.

Records have id, question and context, as JSON lines, SQuAD JSON, TFRecords of
tf.train.Example or Parquet. With --question they are passages, and each is
asked the same. --output_dir gets answers-00000-of-00016.jsonl and so on, and
dead_letters-* with the records that were not answered and the reasons. A run
that was stopped continues with the same command: shards that have answers are
not done again.
"""

from absl import flags

from bert_span.cli import beam_flags, model_flags, program
from bert_span.cli.tensorflow_import import import_tensorflow

_MODEL = flags.DEFINE_string(
  "model",
  None,
  "Model directory that run_squad or save_to_preset wrote, or a version that "
  "export_saved_model wrote, a path that every worker sees; or minilm_squad, "
  "the model that comes with the package.",
)
_INPUT = flags.DEFINE_string(
  "input", None, "Files of questions, as paths and globs separated by commas."
)
_INPUT_FORMAT = flags.DEFINE_enum(
  "input_format",
  None,
  ["jsonl", "squad", "tfrecord", "parquet"],
  "Format of --input; by default that of each file's ending: .jsonl, .json "
  "(SQuAD), .tfrecord, .parquet.",
)
_QUESTION = flags.DEFINE_multi_string(
  "question",
  None,
  "Question that is asked about every passage of --input. If it is repeated, "
  "#0, #1, .. are appended to the ids of the records.",
)
_OUTPUT_DIR = model_flags.output_dir_flag()
_OUTPUT_FORMAT = flags.DEFINE_enum(
  "output_format", "jsonl", ["jsonl", "parquet"], "Format of the answers."
)
_NUM_SHARDS = flags.DEFINE_integer(
  "num_shards",
  16,
  "Files of answers. A worker answers one at a time with its passages in "
  "memory, and a restart begins with a whole one.",
  lower_bound=1,
)
_N_BEST = flags.DEFINE_integer(
  "n_best",
  1,
  "Entries of each question's n-best list; 1 leaves the list out.",
  lower_bound=1,
)
_BATCH_SIZE = flags.DEFINE_integer(
  "predict_batch_size",
  8,
  "Windows the model reads at once at most, see run_squad; a SavedModel has "
  "its own number.",
  lower_bound=1,
)
_FIXED_LENGTH = flags.DEFINE_bool(
  "fixed_length",
  False,
  "Whether every window is padded to --max_seq_length, as in the original.",
)
model_flags.window_flags()
model_flags.decoder_flags()
model_flags.head_flag()
model_flags.bio_decoder_flags()


def main(argv):
  """Checks the flags and answers the questions."""
  _check_flags()
  options = beam_flags.pipeline_options(argv)
  # Seconds: only once the flags are known to be right.
  source_options = _source_options()
  import_tensorflow()
  from bert_span.jobs import beam_prediction

  beam_prediction.answer_files(
    options,
    _MODEL.value,
    _INPUT.value,
    _OUTPUT_DIR.value,
    input_format=_INPUT_FORMAT.value,
    questions=tuple(_QUESTION.value or ()),
    num_shards=_NUM_SHARDS.value,
    output_format=_OUTPUT_FORMAT.value,
    n_best=_N_BEST.value,
    **source_options,
  )


def run():
  """Entry point of the installed command."""
  program.run_program(main, foreign_flags=True)


def _check_flags():
  check = program.check
  check(_MODEL.value, "--model is required.")
  check(_INPUT.value, "--input is required.")
  check(_OUTPUT_DIR.value, "--output_dir is required.")
  for question in _QUESTION.value or ():
    check(question.strip(), "--question is empty. Write a question.")
  beam_flags.check_beam_installed()


def _source_options():
  """Options of the `AnswerSource`; an exported model has its own."""
  if beam_flags.is_exported(_MODEL.value):
    _check_no_model_flags()
    return {}
  saved = model_flags.saved_config(_MODEL.value)
  head = model_flags.head_of_model(saved)
  decoder_options = model_flags.decoder_options(saved, head)
  model_flags.check_n_best(_N_BEST, decoder_options)
  return {
    "batch_size": _BATCH_SIZE.value,
    "window_options": model_flags.window_options(saved),
    "decoder_options": decoder_options,
    "fixed_length": _FIXED_LENGTH.value,
  }


def _check_no_model_flags():
  """Refuses flags of options that are fixed in an exported model."""
  groups = (
    model_flags.window_flags(),
    model_flags.decoder_flags(),
    model_flags.bio_decoder_flags(),
  )
  holders = [holder for group in groups for holder in group]
  holders += [model_flags.head_flag(), _BATCH_SIZE, _FIXED_LENGTH]
  for holder in holders:
    program.check(
      not holder.present,
      f"--{holder.name} is fixed in an exported model. Leave it out, or give "
      "the model directory.",
    )


if __name__ == "__main__":
  run()
