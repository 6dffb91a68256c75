"""The program bert_span.conformance."""

import json

import pytest
from programs import run_program

from bert_span.certificate.golden_files import SAMPLE_GOLDENS
from bert_span.jobs.conformance_report import write_conformance_report


@pytest.mark.large
def test_the_packages_own_outputs_pass_all_checks(tmp_path):
  output = tmp_path / "report.txt"
  result = run_program("bert_span.conformance", f"--output_file={output}")
  assert result.returncode == 0, result.stdout
  assert "FAILS" not in result.stdout
  for number in range(1, 10):
    assert f"\n{number}  " in result.stdout
  assert "TensorFlow 1.15.5" in result.stdout
  assert "--learning_rate_after_step" in result.stdout
  assert output.read_text(encoding="utf-8") == result.stdout


@pytest.mark.large
def test_other_outputs_are_checked_where_they_are(goldens, shared_data, capsys):
  assert write_conformance_report(str(goldens), str(shared_data), ["4"])
  text = capsys.readouterr().out
  assert str(goldens) in text
  assert "Optimizer" in text


def test_the_packages_outputs_are_small(repository):
  files = [p for p in (repository / SAMPLE_GOLDENS).rglob("*") if p.is_file()]
  assert sum(path.stat().st_size for path in files) <= 1_500_000


def test_the_packages_outputs_were_recorded_as_tests_original_says(repository):
  plan = repository / "tests" / "original" / "sample.json"
  recorded = repository / SAMPLE_GOLDENS / "configurations.json"
  assert json.loads(plan.read_text()) == json.loads(recorded.read_text())


def test_data_without_goldens_is_refused():
  result = run_program("bert_span.conformance", "--data=somewhere")
  assert result.returncode == 1
  assert "--goldens" in result.stderr
  assert "Traceback" not in result.stderr


def test_a_folder_without_the_outputs_is_named(tmp_path):
  message = r"normalize_answer.json.*--goldens"
  with pytest.raises(FileNotFoundError, match=message):
    write_conformance_report(str(tmp_path), numbers=["6"])


def test_an_unknown_check_is_refused():
  with pytest.raises(ValueError, match=r"--points.* 9\. Received: '10'"):
    write_conformance_report(numbers=["10"])
