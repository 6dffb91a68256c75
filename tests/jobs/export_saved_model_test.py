"""The job of export_saved_model; what it and export_tflite do as commands."""

import importlib.util
import os
import signal

import pytest

from bert_span.extractors.bio_extractor import BioExtractor
from bert_span.jobs.export_saved_model import export_saved_model
from export.export_saved_model import ExportSavedModelOptions
from tests.support.models import shared_model
from tests.support.programs import error_line, run_here, start_program
from tests.support.squad import read


def _export(**options):
  return export_saved_model(ExportSavedModelOptions(**options))


@pytest.mark.large
def test_a_version_is_exported_with_the_options_that_are_given(
  tmp_path, capsys
):
  model = shared_model(version_2=True, kind=BioExtractor)
  base = tmp_path / "base"
  files = {"model": model, "output": base, "version": 4}
  with pytest.raises(ValueError, match="n_best_size"):
    _export(**files, n_best_size=3, with_warmup=False)
  options = {"threshold": 0.25, "decoding": "greedy", "max_windows_per_step": 5}
  path = _export(**files, **options, head="bio")
  printed = capsys.readouterr()
  assert "17 answers" in printed.out
  assert f"-v {base}:/models/base:ro" in printed.out
  assert "/v1/models/base:predict" in printed.out
  assert "FastWordpieceTokenizeWithOffsets, NormalizeUTF8\n" in printed.out
  assert path == f"{base}/4" and path in printed.err
  steps = [line for line in printed.err.splitlines() if line.endswith("...")]
  assert len(steps) >= 4
  files_written = {str(p.relative_to(base / "4")) for p in base.glob("4/*/*")}
  warmup = "assets.extra/tf_serving_warmup_requests"
  has_api = importlib.util.find_spec("tensorflow_serving") is not None
  assert (warmup in files_written) == has_api
  assert files_written - {warmup} == {
    *("assets.extra/README.md", "assets.extra/model_card.json"),
    *("assets/vocab.txt", "variables/variables.data-00000-of-00001"),
    "variables/variables.index",
  }
  card = read(base / "4" / "assets.extra" / "model_card.json")
  assert options.items() <= card["options"].items()
  assert card["verification"]["largest difference of a score"] < 1e-4
  with pytest.raises(ValueError, match="version 4"):
    _export(**files, with_warmup=False)
  assert os.listdir(base) == ["4"]


# Program -> its room, its output, and what is in a folder after an export.
_PROGRAMS = {
  "export_saved_model": ("serving", "base", "base/[0-9]*"),
  "export_tflite": ("tflite", "qa.tflite", "qa.tflite"),
}
_of_both = pytest.mark.parametrize("program", _PROGRAMS)


def _command(program, folder):
  output = folder / _PROGRAMS[program][1]
  return f"export.{program}", f"--model={shared_model()}", f"--output={output}"


@_of_both
@pytest.mark.parametrize(
  ("flags", "proof"), [([], "short"), (["--proof=full"], "full")]
)
def test_the_proof_is_short_unless_full_is_asked_for(
  tmp_path, monkeypatch, program, flags, proof
):
  def refuse(proof):
    raise ValueError(f"A {proof} proof.")

  room, *_ = _PROGRAMS[program]
  monkeypatch.setattr(f"bert_span.{room}.export.sample_examples", refuse)
  done = run_here(*_command(program, tmp_path), *flags)
  assert f"A {proof} proof" in error_line(done)


@pytest.mark.large
@_of_both
def test_a_full_disk_is_one_line_and_nothing_is_left(
  small_disk, few_samples, program
):
  folder, _ = small_disk
  done = run_here(*_command(program, folder))
  assert "No space left" in error_line(done)
  assert not [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.large
@_of_both
def test_sigterm_ends_an_export_and_removes_what_is_unfinished(
  tmp_path, program
):
  started = start_program(*_command(program, tmp_path))
  started.send_signal_when(
    lambda: list(tmp_path.rglob("*.tmp/*")), signal.SIGTERM
  )
  assert started.finish().returncode == 128 + signal.SIGTERM
  assert not list(tmp_path.rglob("*.tmp"))
  assert not list(tmp_path.glob(_PROGRAMS[program][2]))
