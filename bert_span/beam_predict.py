r"""Answers questions of many files, as an Apache Beam pipeline.

  python -m bert_span.beam_predict --model=output/model \
    --input='questions/*.jsonl' --output_dir=answers --num_shards=16

Runs on this machine, unless Beam's options, such as --runner=FlinkRunner or
--runner=DataflowRunner --project=.., are given on the same command line.

Records have id, question and context, in JSON lines or Parquet. With --question
they have id and context, and each passage is asked the same questions.
--output_dir gets answers-00000-of-00016.jsonl and so on, and dead_letters-*
with each record that was not answered and the reason. The same command resumes
a run that was stopped; it skips the shards with answers.
"""

import dataclasses

from bert_span.beam.options import BeamOptions
from bert_span.cli.program import program
from bert_span.extractors.options import (
  MODELS,
  BatchOptions,
  LengthOptions,
  ModelOptions,
  PrecisionOptions,
)
from bert_span.options.fields import REQUIRED, changed, option
from bert_span.storage.options import FileOptions, OutputFolder

_SHARD = r"-\d{5}-of-\d{5}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class BeamPredictOptions(
  ModelOptions,
  PrecisionOptions,
  LengthOptions,
  BatchOptions,
  BeamOptions,
  FileOptions,
):
  """The options of `bert_span.jobs.beam_predict.beam_predict`."""

  model: str = changed(
    ModelOptions,
    "model",
    help=f"{MODELS}; or a version that export_saved_model wrote. Every worker "
    "must see the path.",
  )
  input: str = option(
    REQUIRED,
    "Files of questions, as paths and globs separated by commas.",
    is_input=True,
  )
  question: tuple[str, ...] = option(
    (),
    "Question to ask of every passage of `input`. If the flag is repeated, "
    "#0, #1, .. are appended to the ids of the records.",
    repeated=True,
  )
  output_dir: str = changed(
    OutputFolder,
    "output_dir",
    writes={
      None: ("job.json", rf"(answers|dead_letters){_SHARD}\.(jsonl|parquet)")
    },
  )
  input_format: str | None = option(
    None,
    "Format of `input`, jsonl or parquet; by default the ending of each file "
    "decides: .jsonl, .ndjson, .parquet.",
  )
  output_format: str = option(
    "jsonl", "Format of the answers.", choices=("jsonl", "parquet")
  )
  num_shards: int = option(
    16,
    "Number of answer files (shards). A worker answers one shard at a time and "
    "holds its passages in memory; a restart repeats unfinished shards.",
    minimum=1,
    maximum=99_999,
  )
  n_best: int = option(
    1,
    "Number of entries of each question's n-best list; 1 leaves the list out.",
    minimum=1,
  )
  strict: bool = option(
    False,
    "Whether to end with status 1 if any record is in the dead letters; by "
    "default only if no question was answered.",
  )


run = program(BeamPredictOptions, "bert_span.jobs.beam_predict:beam_predict")

if __name__ == "__main__":
  run()
