"""Models that come with the package are found by their names."""

import json
import pathlib
import subprocess
import sys

import pytest

from bert_span import SpanExtractor
from bert_span.presets import embedded_model, load_pretrained, span_config


@pytest.fixture
def empty_installation(tmp_path, monkeypatch):
  monkeypatch.setattr(embedded_model, "_FOLDER", str(tmp_path / "pretrained"))
  monkeypatch.chdir(tmp_path)
  return tmp_path


def test_other_names_and_paths_are_left_alone(empty_installation):
  for preset in ("all-minilm-l6-v2", "some/model", empty_installation):
    found = embedded_model.find_embedded_model(preset)
    assert found == str(preset)


def test_a_directory_of_that_name_goes_before_the_model(empty_installation):
  (empty_installation / "minilm_squad").mkdir()
  found = embedded_model.find_embedded_model("minilm_squad")
  assert found == "minilm_squad"


@pytest.mark.parametrize(
  "load", [load_pretrained.load_pretrained, span_config.read_span_config]
)
def test_an_installation_without_the_files_is_told(empty_installation, load):
  del empty_installation
  with pytest.raises(ValueError, match=r"lacks the model minilm_squad.*again"):
    load("minilm_squad")


@pytest.fixture(scope="module")
def embedded():
  return SpanExtractor.from_preset("minilm_squad")


def test_its_files_are_small_and_say_where_they_are_from():
  folder = pathlib.Path(embedded_model.find_embedded_model("minilm_squad"))
  files = [path for path in folder.rglob("*") if path.is_file()]
  assert sum(path.stat().st_size for path in files) <= 46_000_000
  notice = (folder.parent / "NOTICE").read_text()
  for name in ("minilm_squad", "all-MiniLM-L6-v2", "Apache", "CC BY-SA 4.0"):
    assert name in notice


def test_it_answers_and_knows_when_there_is_no_answer(embedded):
  context = (
    "The mill was built by Anna Berg in 1895. Two years later a fire destroyed "
    "the roof."
  )
  answer = embedded.answer(question="Who built the mill?", context=context)
  assert answer.text == "Anna Berg"
  assert 0.5 < answer.probability <= 1.0
  answer = embedded.answer(
    question="How much did the bakery in London cost?", context=context
  )
  assert answer.text == ""
  assert embedded.decoder_options.temperature is not None


@pytest.fixture
def run_program():
  """Runs a program; its standard output, or what it says if it must fail."""

  def run(name, *arguments, fails=False):
    process = subprocess.run(
      [sys.executable, "-m", f"bert_span.{name}", *arguments],
      capture_output=True,
      text=True,
      check=False,
    )
    assert (process.returncode != 0) == fails, process.stderr
    return process.stderr if fails else process.stdout

  return run


def test_programs_take_its_name(run_program):
  answer = run_program(
    "ask",
    "--model=minilm_squad",
    "--question=When was the mill built?",
    "--context=The mill was built by Anna Berg in 1895.",
    "--json",
  )
  assert json.loads(answer)["answer"] == "1895"


def test_it_is_not_calibrated_in_place(run_program):
  message = run_program(
    "calibrate", "--model=minilm_squad", "--predict_file=x.json", fails=True
  )
  assert "comes with the package" in message
  assert "save_to_preset" in message
