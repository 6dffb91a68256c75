"""The job of export_tflite; as a command, a full disk and SIGTERM."""

import json
import signal

import pytest

from bert_span.ask import AskOptions
from bert_span.jobs.ask import ask
from bert_span.jobs.export_tflite import export_tflite
from bert_span.tflite import export as tflite_export
from export.export_tflite import ExportTfliteOptions
from tests.support.models import CONTEXT, QUESTION, eagerly, shared_model
from tests.support.programs import error_line, run_here, start_program


@pytest.mark.large
def test_ask_answers_from_the_file_as_from_the_model(
  tmp_path, few_samples, capsys
):
  model, vectors = shared_model(version_2=True), tmp_path / "vectors.json"
  path = tmp_path / "qa.tflite"
  export_tflite(
    ExportTfliteOptions(model=model, output=path, test_vectors=vectors)
  )
  printed = capsys.readouterr()
  number = len(few_samples)
  assert f"{number} of {number}" in printed.out
  assert str(path) in printed.err and str(vectors) in printed.err
  assert "MATMUL" not in (printed.out + printed.err).upper()  # no list of ops
  assert len(json.loads(vectors.read_text("utf-8"))["vectors"]) > number
  for source in (model, path):
    with eagerly():
      ask(
        AskOptions(
          model=source, question=(QUESTION,), context=CONTEXT, json=True
        )
      )
  of_model, of_file = map(json.loads, capsys.readouterr().out.splitlines())
  assert of_file["char_start"] == of_model["char_start"]
  assert of_file["answer"] == of_model["answer"]
  assert of_file["score"] == pytest.approx(of_model["score"], abs=1e-3)


@pytest.mark.parametrize("given", [{}, {"proof": "full"}])
def test_the_proof_is_short_unless_full_is_asked_for(
  tmp_path, monkeypatch, given
):
  def refuse(proof):
    raise ValueError(f"A {proof} proof.")

  monkeypatch.setattr(tflite_export, "sample_examples", refuse)
  options = ExportTfliteOptions(
    model=shared_model(), output=tmp_path / "qa.tflite", **given
  )
  with pytest.raises(
    ValueError, match=f"A {given.get('proof', 'short')} proof"
  ):
    export_tflite(options)


@pytest.mark.large
def test_a_full_disk_is_one_line_and_nothing_is_left(small_disk, few_samples):
  folder, _ = small_disk
  done = run_here(
    *("export.export_tflite", f"--model={shared_model()}"),
    f"--output={folder / 'qa.tflite'}",
  )
  assert "No space left" in error_line(done)
  assert not [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.large
def test_sigterm_ends_an_export_and_removes_what_is_unfinished(tmp_path):
  path = tmp_path / "qa.tflite"
  program = start_program(
    "export.export_tflite", f"--model={shared_model()}", f"--output={path}"
  )
  program.send_signal_when(
    lambda: list(tmp_path.rglob("*.tmp/*")), signal.SIGTERM
  )
  assert program.finish().returncode == 128 + signal.SIGTERM
  assert not list(tmp_path.rglob("*.tmp")) and not path.exists()
