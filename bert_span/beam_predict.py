r"""Answers questions of many files, as an Apache Beam pipeline.

  python -m bert_span.beam_predict --model=output/model \
    --input='questions/*.jsonl' --output_dir=answers --num_shards=16

Runs on this machine. Beam's own options, such as --runner=FlinkRunner or
--runner=DataflowRunner --project=.., are given on the same command line.

Records have id, question and context, in JSON lines or Parquet. With --question
they are passages, and each is asked the same. --output_dir gets
answers-00000-of-00016.jsonl and so on, and dead_letters-* with each record that
was not answered and the reason. The same command resumes a run that was
stopped; it skips the shards with answers.
"""

from absl import flags

from bert_span.cli import model_flags, program, questions
from bert_span.cli.option_flags import define_flags, read_flags
from bert_span.jobs.options import AnswerFilesOptions

_MODEL = model_flags.define_model_flag(
  ", or a version that export_saved_model wrote; every worker must see the path"
)
_QUESTION = flags.DEFINE_multi_string(
  "question",
  None,
  "Question that every passage of --input is asked; may be repeated, and the "
  "ids of the answers are then the record's with #0, #1, .. appended.",
)
_FILES = define_flags(AnswerFilesOptions)
_OUTPUT_DIR, _BATCH_SIZE, _FIXED_LENGTH = model_flags.define_shared_flags(
  "output_dir", "predict_batch_size", "fixed_length"
)
_DTYPE = model_flags.define_dtype_flag()
_ANSWERS = model_flags.define_extractor_flags()


@program.entry_point(foreign_flags=True)
def run(argv):
  program.require(_MODEL, _FILES.patterns, _OUTPUT_DIR)
  questions.check_questions(_QUESTION)
  from bert_span.beam.pipeline_options import pipeline_options

  options = model_flags.extractor_options(_MODEL.value)
  from bert_span.jobs import beam_predict

  if beam_predict.is_exported(_MODEL.value):
    program.forbid(
      [*_ANSWERS, _DTYPE, _BATCH_SIZE, _FIXED_LENGTH],
      "is fixed in an exported model; give the model directory instead",
    )
    options = {}
  else:
    model_flags.check_n_best(_FILES.n_best, options["decoder_options"])
    options["batch_size"] = _BATCH_SIZE.value
    options["fixed_length"] = _FIXED_LENGTH.value
    options["dtype"] = _DTYPE.value
  beam_predict.answer_files(
    pipeline_options(argv[1:]),
    read_flags(AnswerFilesOptions),
    _MODEL.value,
    output_dir=_OUTPUT_DIR.value,
    questions=tuple(_QUESTION.value or ()),
    **options,
  )


if __name__ == "__main__":
  run()
