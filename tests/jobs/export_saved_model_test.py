"""The programs of export/, run as users run them."""

import importlib.util
import json
import os
import signal
import time

import pytest

from bert_span.extractors.bio_extractor import BioExtractor
from bert_span.jobs.export_saved_model import export_saved_model
from bert_span.jobs.export_tflite import export_tflite
from bert_span.serving import export as serving_export
from bert_span.tflite import export as tflite_export
from export.export_saved_model import ExportSavedModelOptions
from export.export_tflite import ExportTfliteOptions
from tests.support.models import CONTEXT, QUESTION, shared_model
from tests.support.programs import (
  error_line,
  refusal,
  run_here,
  start_program,
  succeeds,
  succeeds_here,
)
from tests.support.squad import read


@pytest.mark.large
def test_a_version_is_exported_with_the_options_of_the_flags(tmp_path):
  model = shared_model(version_2=True, kind=BioExtractor)
  base = tmp_path / "base"
  export = ("export.export_saved_model", f"--model={model}")
  export += (f"--output={base}", "--version=4")
  assert "--n_best_size" in refusal(*export, "--n_best_size=3", "--nowarmup")
  done = succeeds(
    *(*export, "--bio_threshold=0.25", "--bio_decoding=greedy", "--head=bio"),
    "--max_windows_per_step=5",
  )
  assert "17 answers" in done.stdout
  assert "'s FastWordpieceTokenizeWithOffsets, NormalizeUTF8\n" in done.stdout
  assert f"{base}/4" in done.stderr
  _check_steps(done, "questions", "SavedModel")
  files = {str(path.relative_to(base / "4")) for path in base.glob("4/*/*")}
  warmup = "assets.extra/tf_serving_warmup_requests"
  has_api = importlib.util.find_spec("tensorflow_serving") is not None
  assert (warmup in files) == has_api
  assert files - {warmup} == {
    *("assets.extra/README.md", "assets.extra/model_card.json"),
    *("assets/vocab.txt", "variables/variables.data-00000-of-00001"),
    "variables/variables.index",
  }
  card = read(base / "4" / "assets.extra" / "model_card.json")
  options = {"threshold": 0.25, "decoding": "greedy", "max_windows_per_step": 5}
  assert options.items() <= card["options"].items()
  assert card["verification"]["largest difference of a score"] < 1e-4
  assert "version 4" in refusal(*export, "--nowarmup")
  assert os.listdir(base) == ["4"]


def _check_steps(done, *words):
  """Checks that an export said what it did, step by step, and listed no ops."""
  steps = [line for line in done.stderr.splitlines() if line.endswith("...")]
  assert len(steps) >= 4
  for word in ("Loading", "model", *words):
    assert any(word in step for step in steps)
  assert "MATMUL" not in (done.stdout + done.stderr).upper()


_of_both_programs = pytest.mark.parametrize(
  ("name", "output"),
  [("export_saved_model", "base"), ("export_tflite", "qa.tflite")],
)


@pytest.mark.parametrize(
  ("job", "options_type", "module", "output", "others"),
  [
    (
      *(export_saved_model, ExportSavedModelOptions, serving_export),
      *("base", {"with_warmup": False}),
    ),
    (export_tflite, ExportTfliteOptions, tflite_export, "qa.tflite", {}),
  ],
)
@pytest.mark.parametrize("given", [{}, {"proof": "full"}])
def test_the_proof_is_short_unless_full_is_asked_for(
  tmp_path, monkeypatch, job, options_type, module, output, others, given
):
  def refuse(proof):
    raise ValueError(f"A {proof} proof.")

  monkeypatch.setattr(module, "sample_examples", refuse)
  options = options_type(
    model=shared_model(), output=tmp_path / output, **others, **given
  )
  expected = given.get("proof", "short")
  with pytest.raises(ValueError, match=f"A {expected} proof"):
    job(options)


@pytest.mark.large
@_of_both_programs
def test_a_full_disk_is_one_line_and_nothing_is_left(
  small_disk, few_samples, name, output
):
  model = f"--model={shared_model()}"
  folder, _ = small_disk
  done = run_here(f"export.{name}", model, f"--output={folder / output}")
  assert "No space left" in error_line(done)
  assert not [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.large
@_of_both_programs
def test_sigterm_ends_an_export_and_removes_what_is_unfinished(
  tmp_path, name, output
):
  model = f"--model={shared_model()}"
  program = start_program(
    f"export.{name}", model, f"--output={tmp_path / output}"
  )
  program.send_signal_when(
    lambda: list(tmp_path.rglob("*.tmp/*")), signal.SIGTERM
  )
  start = time.monotonic()
  done = program.finish()
  assert done.returncode == 128 + signal.SIGTERM
  assert time.monotonic() - start < 10
  assert not list(tmp_path.rglob("*.tmp"))


@pytest.mark.large
def test_ask_answers_from_the_file_as_from_the_model(tmp_path, few_samples):
  model, vectors = shared_model(version_2=True), tmp_path / "vectors.json"
  path = tmp_path / "qa.tflite"
  done = succeeds_here(
    *("export.export_tflite", f"--model={model}", f"--output={path}"),
    f"--test_vectors={vectors}",
  )
  number = len(few_samples)
  assert f"{number} of {number} sample questions" in done.stdout
  assert str(path) in done.stderr
  _check_steps(done, f"{number} questions", "Converting")
  assert len(json.loads(vectors.read_text("utf-8"))["vectors"]) > number
  asked = ["bert_span.ask", f"--question={QUESTION}", f"--context={CONTEXT}"]
  answers = []
  for source in (model, path):
    run = succeeds_here(*asked, f"--model={source}", "--json")
    answers.append(json.loads(run.stdout))
  of_model, of_file = answers
  assert of_file["char_start"] == of_model["char_start"]
  assert of_file["answer"] == of_model["answer"]
  assert of_file["score"] == pytest.approx(of_model["score"], abs=1e-3)
