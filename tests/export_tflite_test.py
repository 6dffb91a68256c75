"""The program export.export_tflite, and ask on the file it writes."""

import json

import pytest
from programs import error_line, run_here, succeeds
from tiny_extractor import CONTEXT, QUESTION, shared_model


@pytest.mark.large
def test_ask_answers_from_the_files_as_from_the_model(tmp_path, few_samples):
  model, vectors = shared_model(version_2=True), tmp_path / "vectors.json"
  windows, text = tmp_path / "windows.tflite", tmp_path / "text.tflite"
  export = ("export.export_tflite", f"--model={model}")
  done = succeeds(*export, f"--output={windows}", f"--test_vectors={vectors}")
  assert "124 of 124 sample questions" in done.stdout
  assert str(windows) in done.stderr
  assert len(json.loads(vectors.read_text("utf-8"))["vectors"]) == 100
  done = run_here(*export, f"--output={text}", "--with_tokenizer")
  assert done.returncode == 0, done.stderr
  asked = ["bert_span.ask", f"--question={QUESTION}", f"--context={CONTEXT}"]
  answers = []
  for source in (model, windows, text):
    run = run_here(*asked, f"--model={source}", "--json")
    assert run.returncode == 0, run.stderr
    answers.append(json.loads(run.stdout))
  of_model, *of_files = answers
  for of_file in of_files:
    assert of_file["char_start"] == of_model["char_start"]
    assert of_file["answer"] == of_model["answer"]
    assert of_file["score"] == pytest.approx(of_model["score"], abs=1e-3)
  run = run_here(*asked, f"--model={text}", "--max_answer_length=1")
  assert "max_answer_length was 30" in error_line(run)
