"""The program bert_span.conformance."""

import pytest
from programs import run_program

from bert_span.jobs.conformance_report import write_conformance_report


@pytest.mark.large
def test_a_check_that_passes_gives_status_0(goldens, shared_data, tmp_path):
  output = tmp_path / "report.txt"
  result = run_program(
    "bert_span.conformance",
    f"--goldens={goldens}",
    f"--data={shared_data}",
    "--points=4",
    f"--output_file={output}",
  )
  assert result.returncode == 0, result.stderr
  assert "Optimizer" in result.stdout
  assert "FAILS" not in result.stdout
  assert "--learning_rate_after_step" in result.stdout
  assert output.read_text(encoding="utf-8") == result.stdout


def test_goldens_are_required():
  result = run_program("bert_span.conformance")
  assert result.returncode == 1
  assert "--goldens" in result.stderr
  assert "Traceback" not in result.stderr


def test_a_folder_without_the_outputs_is_named(tmp_path):
  message = r"normalize_answer.json.*--goldens"
  with pytest.raises(FileNotFoundError, match=message):
    write_conformance_report(str(tmp_path), numbers=["6"])


def test_an_unknown_check_is_refused(tmp_path):
  with pytest.raises(ValueError, match=r"--points.* 8\. Received: '9'"):
    write_conformance_report(str(tmp_path), numbers=["9"])
