"""Programs take a model by its name on a hub wherever they take one."""

import json

import pytest

from tests.support.models import (
  CONTEXT,
  QUESTION,
  shared_extractor,
  shared_model,
)
from tests.support.programs import run_here
from tests.support.squad import write_squad_files

_NAME = "hf://us/tiny"


@pytest.fixture
def hub(model_hub):
  model_hub.push("us/tiny", shared_model())
  return model_hub


def _files(folder):
  (folder / "passage.txt").write_text(CONTEXT)
  row = {"id": "q", "question": QUESTION, "context": CONTEXT}
  (folder / "rows.jsonl").write_text(json.dumps(row) + "\n")
  return folder


@pytest.mark.large
@pytest.mark.usefixtures("hub")
def test_ask(tmp_path):
  run = run_here(
    *("bert_span.ask", f"--model={_NAME}", f"--question={QUESTION}"),
    f"--context_file={_files(tmp_path) / 'passage.txt'}",
  )
  assert run.returncode == 0, run.stderr
  assert shared_extractor().answer(QUESTION, CONTEXT).text in run.stdout


def test_a_name_without_its_scheme_gets_the_hint(tmp_path, hub):
  run = run_here(
    *("bert_span.ask", "--model=us/tiny", f"--question={QUESTION}"),
    f"--context_file={_files(tmp_path) / 'passage.txt'}",
  )
  assert run.returncode != 0
  assert "hf://us/tiny" in run.stderr
  assert not hub.requests


@pytest.mark.large
@pytest.mark.usefixtures("hub")
def test_convert_and_lint(tmp_path):
  out = tmp_path / "out"
  run = run_here("bert_span.convert", f"--model={_NAME}", f"--output_dir={out}")
  assert run.returncode == 0, run.stderr
  assert (out / "config.json").exists()
  write_squad_files(tmp_path)
  run = run_here(
    "bert_span.lint_squad", f"--preset={_NAME}", str(tmp_path / "v1.json")
  )
  assert "windows" in run.stdout, run.stderr


@pytest.mark.large
@pytest.mark.usefixtures("hub")
def test_run_squad_answers_with_it(tmp_path):
  write_squad_files(tmp_path)
  run = run_here(
    *("bert_span.run_squad", f"--preset={_NAME}", "--do_predict"),
    *("--max_seq_length=30", "--doc_stride=8", "--max_query_length=10"),
    *(f"--predict_file={tmp_path / 'v1.json'}", f"--output_dir={tmp_path}/out"),
  )
  assert run.returncode == 0, run.stderr
  assert (tmp_path / "out" / "predictions.json").exists()


@pytest.mark.large
@pytest.mark.usefixtures("hub")
def test_beam_predict(tmp_path):
  pytest.importorskip("apache_beam", reason="pip install -e '.[beam]'")
  run = run_here(
    *("bert_span.beam_predict", f"--model={_NAME}", "--num_shards=1"),
    f"--input={_files(tmp_path) / 'rows.jsonl'}",
    f"--output_dir={tmp_path / 'out'}",
  )
  assert run.returncode == 0, run.stderr
  (path,) = (tmp_path / "out").glob("answers-*.jsonl")
  expected = shared_extractor().answer(QUESTION, CONTEXT).text
  assert json.loads(path.read_text())["answer"] == expected


def test_calibrate_wants_a_copy_of_its_own(tmp_path, hub):
  files = hub.files("us/tiny")
  write_squad_files(tmp_path)
  run = run_here(
    *("bert_span.calibrate", f"--model={_NAME}"),
    f"--predict_file={tmp_path / 'v1.json'}",
  )
  assert run.returncode != 0
  assert _NAME in run.stderr and "save_to_preset" in run.stderr
  assert hub.files("us/tiny") == files
