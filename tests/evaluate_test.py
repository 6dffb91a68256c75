"""The program bert_span.evaluate, run as users run it."""

import json

import pytest
from programs import run_program, run_python


@pytest.fixture
def evaluate(tmp_path):
  """A function that runs the program on three small files."""
  context = "Ada wrote the first program."
  qas = [
    {
      "id": "a",
      "question": "Who?",
      "answers": [{"text": "Ada", "answer_start": 0}],
      "is_impossible": False,
    },
    {"id": "n", "question": "When?", "answers": [], "is_impossible": True},
  ]
  squad = {
    "version": "v2.0",
    "data": [
      {"title": "Ada", "paragraphs": [{"context": context, "qas": qas}]}
    ],
  }
  values = {
    "predict_file": squad,
    "predictions_file": {"a": "ada", "n": "Ada"},
    "na_prob_file": {"a": -2.0, "n": 3.0},
  }

  def run(**replaced):
    flags = ["--na_prob_thresh=0", f"--output_file={tmp_path / 'out.json'}"]
    for name, value in {**values, **replaced}.items():
      path = tmp_path / f"{name}.json"
      path.write_text(json.dumps(value), encoding="utf-8")
      flags.append(f"--{name}={path}")
    return run_program("bert_span.evaluate", *flags)

  return run


@pytest.mark.large  # Loads TensorFlow to write the output file.
def test_stdout_is_one_json_object_and_stderr_has_the_table(evaluate, tmp_path):
  result = evaluate()
  assert result.returncode == 0, result.stderr
  scores = json.loads(result.stdout)
  assert scores == {
    "exact": 100.0,
    "f1": 100.0,
    "total": 2,
    "HasAns_exact": 100.0,
    "HasAns_f1": 100.0,
    "HasAns_total": 1,
    "NoAns_exact": 100.0,
    "NoAns_f1": 100.0,
    "NoAns_total": 1,
    "best_exact": 100.0,
    "best_exact_thresh": -2.0,
    "best_f1": 100.0,
    "best_f1_thresh": -2.0,
  }
  assert "unanswerable" in result.stderr
  assert json.loads((tmp_path / "out.json").read_text()) == scores


def test_a_missing_prediction_ends_in_one_line_that_names_the_question(
  evaluate, tmp_path
):
  result = evaluate(predictions_file={"a": "ada"})
  assert result.returncode == 1
  assert result.stdout == ""
  assert "Traceback" not in result.stderr
  assert "predictions_file.json" in result.stderr
  assert "Received none for: n." in result.stderr
  assert not (tmp_path / "out.json").exists()


def test_scoring_loads_no_tensorflow():
  check = (
    "import sys; import bert_span.jobs.evaluation; "
    "sys.exit('tensorflow' in sys.modules)"
  )
  assert run_python("-c", check).returncode == 0
