"""The program export.export_tflite, and ask on what it wrote."""

import json

import pytest
from programs import error_line, run_program
from tiny_extractor import CONTEXT, QUESTION, tiny_extractor


@pytest.mark.large
@pytest.mark.parametrize("more", [[], ["--with_tokenizer"]])
def test_ask_answers_from_the_file_as_from_the_model(tmp_path, more):
  model, file = tmp_path / "model", tmp_path / "qa.tflite"
  tiny_extractor(version_2=True).save_to_preset(model)
  done = run_program(
    "export.export_tflite",
    *(f"--model={model}", f"--output={file}", "--license=Apache-2.0", *more),
  )
  assert done.returncode == 0, done.stderr
  assert "equal answers:   124 of 124 sample questions" in done.stdout
  assert f"Written: {file}" in done.stderr
  answers = []
  for source in (model, file):
    asked = run_program(
      "bert_span.ask",
      *(f"--model={source}", f"--question={QUESTION}", f"--context={CONTEXT}"),
      "--json",
    )
    assert asked.returncode == 0, asked.stderr
    answers.append(json.loads(asked.stdout))
  of_model, of_file = answers
  assert of_file["char_start"] == of_model["char_start"]
  assert of_file["answer"] == of_model["answer"]
  assert of_file["score"] == pytest.approx(of_model["score"], abs=1e-3)
  if not more:
    return
  assert "tokenizer inside: 0 of" in done.stdout
  asked = run_program(
    "bert_span.ask",
    *(f"--model={file}", f"--question={QUESTION}", f"--context={CONTEXT}"),
    "--max_answer_length=1",
  )
  assert asked.returncode == 1
  assert (
    "max_answer_length is 30 in the file, received 1"
    in (asked.stderr.splitlines()[-1])
  )


@pytest.mark.parametrize(
  ("arguments", "message"),
  [
    (["--output=a.tflite"], "--model is required"),
    (["--model=m"], "--output is required"),
    (["--model=m", "--output=a.bin"], "must end with .tflite"),
    (["--model=m", "--output=a.tflite", "--max_f1_drop=1"], "--evaluate_file"),
    (
      ["--model=m", "--output=a.tflite", "--quantization=int8"],
      "--calibration_file belongs to",
    ),
    (
      [
        *("--model=m", "--output=a.tflite", "--quantization=int8"),
        "--calibration_file=c.json",
      ],
      "experimental and may ruin the answers",
    ),
    (
      [
        *("--model=m", "--output=a.tflite", "--quantization=int8"),
        *("--calibration_file=c.json", "--evaluate_file=e.json"),
        *("--max_f1_drop=1", "--with_tokenizer"),
      ],
      "--with_tokenizer cannot be combined with --quantization=int8",
    ),
  ],
)
def test_wrong_flags_are_one_line(arguments, message):
  done = run_program("export.export_tflite", *arguments)
  assert message in error_line(done)
