"""The job of run_pretraining, on a tiny encoder and a made-up language."""

import contextlib
import io
import json
import shutil

import numpy as np
import pytest

from bert_span.create_pretraining_data import CreatePretrainingDataOptions
from bert_span.jobs.create_pretraining_data import create_pretraining_data
from bert_span.jobs.run_pretraining import run_pretraining
from bert_span.presets.load_pretrained import load_original, load_pretrained
from bert_span.pretraining.model_files import read_pretraining_heads
from bert_span.run_pretraining import RunPretrainingOptions
from tests.support.models import extractor_of
from tests.support.programs import succeeds, undeclared_files
from tests.support.squad import read, write_encoder_files
from tests.support.training import VOCABULARY, write_corpus

_TRAINING = {
  "max_seq_length": 16,
  "seed": 3,
  "do_train": True,
  "train_batch_size": 4,
  "num_train_steps": 6,
  "num_warmup_steps": 2,
  "save_checkpoints_steps": 3,
}


def _options(folder, **options):
  """Of a training from new weights on two files, scored on the third."""
  return RunPretrainingOptions(
    **{
      **_TRAINING,
      "bert_config_file": folder / "bert_config.json",
      "vocab_file": folder / "vocab.txt",
      "input_file": folder / "[01].txt",
      "do_eval": True,
      "eval_file": folder / "2.txt",
      # So high that the model gets worse.
      "learning_rate": 0.5,
      "eval_steps": 2,
      "best_metric": "mlm_loss",
      **options,
    }
  )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
  folder = tmp_path_factory.mktemp("pretraining")
  write_corpus(folder)
  write_encoder_files(folder, VOCABULARY)
  return folder


@pytest.fixture(scope="module")
def trained(folder):
  """A finished run: its folder, and what was printed and logged."""
  output, log = io.StringIO(), io.StringIO()
  # One of TensorFlow's file systems only, as gs:// is.
  options = _options(folder, output_dir=f"file://{folder}/run")
  with contextlib.redirect_stdout(output), contextlib.redirect_stderr(log):
    run_pretraining(options)
  return folder / "run", output.getvalue(), log.getvalue()


@pytest.mark.large
def test_training_writes_model_exports_scores_and_curves(trained):
  output_dir, printed, log = trained
  names = {path.name for path in output_dir.iterdir()}
  assert {
    *("model", "tf1", "huggingface", "train", "eval", "eval_results.json"),
    *("run.flags", "model.ckpt-6.index", "data_places.jsonl"),
  } <= names
  scores = read(output_dir / "eval_results.json")
  assert json.loads(printed.splitlines()[-1]) == scores
  assert {"mlm_loss", "mlm_accuracy", "sbo_loss", "sbo_accuracy"} <= set(scores)
  assert "WordPieces/s" in log


@pytest.mark.large
def test_one_encoder_is_written_in_three_formats(trained):
  output_dir, _, _ = trained
  model = load_pretrained(f"file://{output_dir}/model")
  tf1 = load_original(
    str(output_dir / "tf1" / "bert_config.json"),
    str(output_dir / "tf1" / "bert_model.ckpt"),
  )
  huggingface = load_pretrained(f"file://{output_dir}/huggingface")
  expected = model.backbone.get_weights()
  for loaded in (tf1, huggingface):
    found = loaded.backbone.get_weights()
    for weight, other in zip(found, expected, strict=True):
      np.testing.assert_array_equal(weight, other)
  assert model.lower_case is True and huggingface.lower_case is True
  expected = (output_dir / "model/assets/tokenizer/vocabulary.txt").read_text()
  for name in ("tf1", "huggingface"):
    assert (output_dir / name / "vocab.txt").read_text() == expected
  assert read_pretraining_heads(str(output_dir / "model"))


@pytest.mark.large
def test_the_best_model_by_held_out_text_is_written_and_scored(trained):
  output_dir, _, _ = trained
  rows = read(output_dir / "evaluations.json")
  losses = {
    row["step"]: row["scores"]["mlm_loss"] for row in rows["evaluations"]
  }
  assert list(losses) == [2, 4, 6]
  best = min(losses, key=losses.get)
  assert best != 6 and rows["best_step"] == best
  assert read(output_dir / "model/selection.json")["step"] == best
  # Of the job after training: encoder and heads are the best ones.
  scores = read(output_dir / "eval_results.json")
  assert scores["mlm_loss"] == pytest.approx(losses[best], rel=1e-5)


@pytest.mark.large
def test_scoring_alone_finds_the_model_and_scores_the_input(
  trained, folder, tmp_path
):
  copy = shutil.copytree(trained[0], tmp_path / "copy")
  expected = read(copy / "eval_results.json")
  run_pretraining(
    RunPretrainingOptions(
      input_file=folder / "2.txt",
      output_dir=copy,
      do_eval=True,
      max_seq_length=16,
      seed=3,
    )
  )
  scores = read(copy / "eval_results.json")
  for name in ("mlm_loss", "sbo_loss", "mlm_accuracy"):
    assert scores[name] == pytest.approx(expected[name], rel=1e-5)


@pytest.mark.large
@pytest.mark.usefixtures("trained")
def test_a_moved_run_without_its_list_has_nothing_to_train(
  folder, tmp_path, monkeypatch, capsys
):
  copy = shutil.copytree(folder, tmp_path / "copy")
  moved = (copy / "run").rename(copy / "moved")
  (moved / "checkpoint").unlink()
  (moved / "tf1/notes.txt").write_text("two years")
  monkeypatch.chdir(copy)
  names = {"vocab_file": "vocab.txt", "bert_config_file": "bert_config.json"}
  names |= {"input_file": "[01].txt", "eval_file": "2.txt"}
  run_pretraining(_options(copy, output_dir="moved", **names))
  assert "nothing to train" in capsys.readouterr().err
  assert (moved / "tf1/notes.txt").read_text() == "two years"
  # Event files have names of their own.
  assert undeclared_files("run_pretraining", moved) == {"train/", "eval/"}


@pytest.mark.large
def test_the_model_continues_on_records_and_on_two_devices(trained, folder):
  """In another process: TensorFlow divides a CPU only before it begins."""
  text, output_dir = folder / "0.txt", folder / "records_run"
  create_pretraining_data(
    CreatePretrainingDataOptions(
      input_file=text,
      vocab_file=folder / "vocab.txt",
      output_file=(folder / "a.tfrecord", folder / "b.tfrecord.gz"),
      max_seq_length=16,
      dupe_factor=2,
    )
  )
  notes = output_dir / "model/notes.txt"
  notes.parent.mkdir(parents=True)
  notes.write_text("two years")
  flags = {
    **_TRAINING,
    "preset": trained[0] / "model",
    "output_dir": output_dir,
    "input_file": f"{folder}/*.tfrecord*",
    "do_eval": True,
    "eval_file": text,
    "sbo": False,
    "do_export": False,
    "precision": "bfloat16",
    "num_devices": 2,
    "accumulate_steps": 2,
  }
  words = [f"--{name}={value}" for name, value in flags.items()]
  error = succeeds("bert_span.run_pretraining", *words).stderr
  assert "masked language model." in error and "2 CPUs" in error
  assert not (output_dir / "tf1").exists()
  assert notes.read_text() == "two years"
  assert read(output_dir / "eval_results.json")["num_mlm_targets"] > 0


def test_only_bert_is_pre_trained(folder, tmp_path):
  model, out = tmp_path / "model", tmp_path / "out"
  extractor_of("electra").save_to_preset(model)
  options = RunPretrainingOptions(
    **_TRAINING, preset=model, input_file=folder / "0.txt", output_dir=out
  )
  with pytest.raises(ValueError, match=f"{model} is electra"):
    run_pretraining(options)
  assert not out.exists()


@pytest.mark.large
def test_a_dry_run_says_what_would_run_and_writes_nothing(
  folder, tmp_path, capsys
):
  output_dir = tmp_path / "dry"
  run_pretraining(_options(folder, output_dir=output_dir, dry_run=True))
  assert not output_dir.exists()
  lines = capsys.readouterr().out.splitlines()
  assert "6 of 4 windows" in lines[1] and "2 of them" in lines[1]
  assert "4 windows of 16 WordPieces" in lines[2]
  assert "100 batches of 8 sequences" in lines[-1]
