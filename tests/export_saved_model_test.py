"""The program export.export_saved_model, run as users run it."""

import functools
import importlib.util
import os

import pytest
from programs import error_line, run_program
from tiny_extractor import tiny_extractor

from bert_span.heads.bio import BIO_HEAD

export = functools.partial(run_program, "export.export_saved_model")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
  path = tmp_path_factory.mktemp("export") / "model"
  tiny_extractor(version_2=True).save_to_preset(path)
  return path


@pytest.mark.large
def test_versions_are_exported_one_after_the_other(model, tmp_path):
  flags = [f"--model={model}", f"--output={tmp_path}", "--nowarmup"]
  done = export(*flags, "--n_best_size=3", "--version=4")
  assert done.returncode == 0, done.stderr
  assert "FastWordpieceTokenizeWithOffsets, NormalizeUTF8" in done.stdout
  assert "124 answers in a fresh process equal the model's" in done.stdout
  assert f"Written: {tmp_path}/4" in done.stderr
  card = (tmp_path / "4" / "assets.extra" / "README.md").read_text()
  assert "| n_best_answer | string | [-1, 4] |" in card
  again = export(*flags, "--version=4")
  assert "already has a version 4" in error_line(again)
  assert os.listdir(tmp_path) == ["4"]


@pytest.mark.large
def test_a_bio_model_is_exported_with_the_decoding_of_the_flags(tmp_path):
  extractor = tiny_extractor(version_2=True, head=BIO_HEAD)
  extractor.save_to_preset(tmp_path / "model")
  flags = [f"--model={tmp_path / 'model'}", f"--output={tmp_path / 'base'}"]
  wrong = export(*flags, "--n_best_size=3", "--nowarmup")
  assert "--n_best_size is for a span head" in error_line(wrong)
  done = export(
    *(*flags, "--bio_threshold=0.25", "--bio_decoding=greedy", "--head=bio")
  )
  assert done.returncode == 0, done.stderr
  assert "124 answers in a fresh process equal the model's" in done.stdout
  extra = tmp_path / "base" / "1" / "assets.extra"
  has_api = importlib.util.find_spec("tensorflow_serving") is not None
  assert (extra / "tf_serving_warmup_requests").exists() == has_api
  lines = (extra / "README.md").read_text().splitlines()
  assert "| threshold | 0.25 |" in lines
  assert "| decoding | greedy |" in lines


def test_help_lists_the_flags_that_are_shared():
  shown = export("--help").stdout
  for name in ("max_seq_length", "n_best_size", "bio_threshold", "jit_compile"):
    assert f"{name}:" in shown


@pytest.mark.parametrize(
  ("arguments", "message"),
  [
    (["--output=base"], "--model is required"),
    (["--model=model"], "--output is required"),
    (["--model=model", "--output=base", "x"], "unknown arguments x"),
  ],
)
def test_wrong_flags_are_one_line(arguments, message):
  done = export(*arguments)
  assert message in error_line(done)
