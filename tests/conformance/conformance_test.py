"""The conformance report on this checkout, and on other outputs."""

import re
import shutil

import pytest

from tests.conformance.checks import print_report
from tests.conformance.golden_files import SAMPLE, SAMPLE_GOLDENS
from tests.support.programs import run_program


@pytest.mark.large
def test_the_outputs_for_the_sample_pass_all_checks():
  result = run_program("tests.conformance")
  report = result.stdout
  assert result.returncode == 0, report + result.stderr
  assert "FAILS" not in report
  assert all(f"\n{number}  " in report for number in range(1, 10))
  assert "TensorFlow 1.15.5" in report
  # 9 dropped, 3 mislabelled.
  assert re.search(r"Questions lost to training g +12 +12 ", report)
  # Each deviation is listed with its questions.
  for deviation, questions in {
    "g, quirk 1, 2": "edge019, edge021",
    "g, quirk 3": "edge043",
    "k, quirk 4": "edge037, edge039, edge040",
    "h, random, quirk 13": "edge042, edge063, edge064, edge065",
    "j, ties, quirk 15": "edge065, edgeimp08",
  }.items():
    (note,) = re.findall(rf"^  {deviation}: .*$", report, re.MULTILINE)
    assert questions in note


def test_other_outputs_are_checked_where_they_are(tmp_path, capsys):
  folder = tmp_path / "goldens"
  shutil.copytree(SAMPLE_GOLDENS, folder)
  (tmp_path / "data").mkdir()
  shutil.copy(f"{SAMPLE}/dev.json", tmp_path / "data")
  assert print_report(str(folder), numbers=["6"])
  text = capsys.readouterr().out
  assert f"outputs in {folder}" in text
  assert "Metrics" in text
  (folder / "normalize_answer.json").unlink()
  with pytest.raises(ValueError, match=r"checks.*'10'"):
    print_report(numbers=["10"])
  message = r"normalize_answer.json.*--goldens"
  with pytest.raises(FileNotFoundError, match=message):
    print_report(str(folder), numbers=["6"])
