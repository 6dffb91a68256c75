"""The program export.export_saved_model, run as users run it."""

import functools
import importlib.util
import os

import pytest
from programs import error_line, run_program
from tiny_extractor import tiny_extractor

from bert_span.heads.bio import BIO_HEAD

export = functools.partial(run_program, "export.export_saved_model")


@pytest.mark.large
def test_a_version_is_exported_with_the_options_of_the_flags(tmp_path):
  extractor = tiny_extractor(version_2=True, head=BIO_HEAD)
  extractor.save_to_preset(tmp_path / "model")
  base = tmp_path / "base"
  flags = [f"--model={tmp_path / 'model'}", f"--output={base}", "--version=4"]
  wrong = export(*flags, "--n_best_size=3", "--nowarmup")
  assert "--n_best_size" in error_line(wrong)
  done = export(
    *(*flags, "--bio_threshold=0.25", "--bio_decoding=greedy", "--head=bio")
  )
  assert done.returncode == 0, done.stderr
  assert "124 answers" in done.stdout
  assert f"{base}/4" in done.stderr
  extra = base / "4" / "assets.extra"
  has_api = importlib.util.find_spec("tensorflow_serving") is not None
  assert (extra / "tf_serving_warmup_requests").exists() == has_api
  lines = (extra / "README.md").read_text().splitlines()
  assert "| threshold | 0.25 |" in lines
  assert "| decoding | greedy |" in lines
  again = export(*flags, "--nowarmup")
  assert "version 4" in error_line(again)
  assert os.listdir(base) == ["4"]


def test_help_lists_the_flags_that_are_shared():
  shown = export("--help").stdout
  for name in ("max_seq_length", "n_best_size", "bio_threshold", "jit_compile"):
    assert f"{name}:" in shown


@pytest.mark.parametrize(
  ("arguments", "message"),
  [
    (["--output=base"], "--model"),
    (["--model=model"], "--output"),
    (["--model=model", "--output=base", "x"], "x"),
  ],
)
def test_wrong_flags_are_one_line(arguments, message):
  done = export(*arguments)
  assert message in error_line(done)
