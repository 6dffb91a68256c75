"""The program bert_span.evaluate; the scores are in jobs/evaluation_test.py."""

import json

import pytest
from programs import run_program, run_python


@pytest.mark.large
def test_stdout_is_one_json_object_and_stderr_has_the_table(tmp_path):
  gold = {"text": "Ada", "answer_start": 0}
  qas = [
    {"id": "a", "question": "Who?", "answers": [gold], "is_impossible": False},
    {"id": "n", "question": "When?", "answers": [], "is_impossible": True},
  ]
  paragraph = {"context": "Ada wrote the first program.", "qas": qas}
  data = [{"title": "Ada", "paragraphs": [paragraph]}]
  values = {
    "predict_file": {"version": "v2.0", "data": data},
    "predictions_file": {"a": "ada", "n": "Ada"},
    "na_prob_file": {"a": -2.0, "n": 3.0},
  }
  flags = ["--na_prob_thresh=0", f"--output_file={tmp_path / 'out.json'}"]
  for name, value in values.items():
    path = tmp_path / f"{name}.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    flags.append(f"--{name}={path}")
  result = run_program("bert_span.evaluate", *flags)
  assert result.returncode == 0, result.stderr
  scores = json.loads(result.stdout)
  metrics = [
    *("exact", "f1", "HasAns_exact", "HasAns_f1", "NoAns_exact", "NoAns_f1"),
    *("best_exact", "best_f1"),
  ]
  assert scores == {
    **dict.fromkeys(metrics, 100.0),
    "total": 2,
    "HasAns_total": 1,
    "NoAns_total": 1,
    "best_exact_thresh": -2.0,
    "best_f1_thresh": -2.0,
  }
  assert "unanswerable" in result.stderr
  assert json.loads((tmp_path / "out.json").read_text()) == scores


def test_scoring_loads_no_tensorflow():
  check = (
    "import sys; import bert_span.jobs.evaluation; "
    "sys.exit('tensorflow' in sys.modules)"
  )
  assert run_python("-c", check).returncode == 0
