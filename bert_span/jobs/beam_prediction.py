"""What beam_predict does: answers questions of many files on many machines."""

import dataclasses

import apache_beam as beam

from bert_span.beam import job_record
from bert_span.beam.answer_source import AnswerSource
from bert_span.beam.prediction_pipeline import add_prediction_steps, counters
from bert_span.beam.question_files import find_question_files
from bert_span.beam.shards import AnswerShards
from bert_span.storage.log import log_line


def answer_files(
  pipeline_options,
  model,
  patterns,
  output_dir,
  input_format=None,
  questions=(),
  num_shards=16,
  output_format="jsonl",
  **source_options,
):
  """Answers what is not answered yet and says what became of the records.

  Args:
    pipeline_options: apache_beam PipelineOptions.
    model: see `AnswerSource`.
    patterns: files of questions, as paths and globs separated by commas.
    output_dir: folder of the answers.
    input_format: of the files; None for what each file's ending says.
    questions: tuple of str that every passage is asked; the files then hold
      passages.
    num_shards: files that the answers are dealt into.
    output_format: "jsonl" or "parquet".
    **source_options: the other values of `AnswerSource`.

  Raises:
    RuntimeError: some shards are still missing.
    ValueError: there are no such files, or the folder has answers of another
      run.
  """
  files = find_question_files(patterns, input_format)
  squad = [file.path for file in files if file.form == "squad"]
  if questions and squad:
    raise ValueError(
      f"--question is for passages, and {squad[0]} has questions of its own. "
      "Leave the flag out, or give JSON lines of id and context."
    )
  source = AnswerSource(model, **source_options)
  # What the run is made of; another one is not continued.
  job_record.begin_or_continue(
    output_dir,
    {
      **dataclasses.asdict(source),
      "model_sha256": job_record.folder_sha256(source.model),
      "input": job_record.input_options([file.path for file in files]),
      "input_forms": sorted({file.form for file in files}),
      "question": list(questions),
      "num_shards": num_shards,
      "output_format": output_format,
    },
  )
  shards = AnswerShards(output_dir, num_shards, output_format)
  done_before = len(shards.done())
  log_line(
    f"{len(files)} files, {shards.count} shards, {done_before} of them done."
  )
  pipeline = beam.Pipeline(options=pipeline_options)
  add_prediction_steps(pipeline, files, shards, source, questions)
  result = pipeline.run()
  result.wait_until_finish()
  for line in _report(counters(result)):
    log_line(line)
  missing = shards.count - len(shards.done())
  if missing:
    raise RuntimeError(
      f"{missing} of {shards.count} shards are not in {shards.directory}. Run "
      "the same command again."
    )


def _report(numbers):
  """Yields lines on what a run has done.

  Args:
    numbers: dict of counters; some runners have none.
  """
  yield (
    f"{numbers.get('questions_written', 0)} questions answered, "
    f"{numbers.get('dead_letters', 0)} records in dead letters, "
    f"{numbers.get('records_done_before', 0)} done before; "
    f"{numbers.get('shards_written', 0)} shards written."
  )
  seconds = numbers.get("answering_milliseconds", 0) / 1000
  if seconds:
    rate = numbers.get("questions_answered", 0) / seconds
    yield (
      f"{seconds:.1f} s of answering on all workers together, without loading "
      f"models: {rate:.2f} questions/s a worker."
    )
