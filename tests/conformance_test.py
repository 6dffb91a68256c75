"""The program bert_span.conformance, run as users run it."""

import functools

import pytest
from programs import run_program

pytestmark = pytest.mark.large  # Every run loads TensorFlow.

run_conformance = functools.partial(run_program, "bert_span.conformance")


def test_a_point_that_holds_gives_status_0(goldens, shared_data, tmp_path):
  output = tmp_path / "certificate.txt"
  result = run_conformance(
    f"--goldens={goldens}",
    f"--data={shared_data}",
    "--points=4",
    f"--output_file={output}",
  )
  assert result.returncode == 0, result.stderr
  assert "Optimizer" in result.stdout
  assert "FALLS" not in result.stdout
  assert "--learning_rate_after_step" in result.stdout
  assert output.read_text(encoding="utf-8") == result.stdout


def test_a_folder_without_the_outputs_is_named(tmp_path):
  result = run_conformance(f"--goldens={tmp_path}", "--points=6")
  assert result.returncode == 1
  assert "normalize_answer.json is not there. --goldens must" in result.stderr
  assert "Traceback" not in result.stderr


def test_an_unknown_point_and_a_missing_folder_are_refused(tmp_path):
  result = run_conformance(f"--goldens={tmp_path}", "--points=9")
  assert result.returncode == 1
  assert "1, 2, 3, 4, 5, 6, 7, 8. Received: '9'" in result.stderr
  assert "--goldens is required" in run_conformance().stderr
