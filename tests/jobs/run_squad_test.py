"""The job of run_squad, on a tiny model and a few questions."""

import contextlib
import json
import pathlib
import re
import shlex
import shutil

import numpy as np
import pytest

from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.jobs import run_squad as job
from bert_span.modeling.encoder import build_encoder
from bert_span.options.fields import REQUIRED, flag_name, option_fields
from bert_span.presets.encoder_weights import read_bert_config
from bert_span.presets.span_config import read_span_config, update_decoder
from bert_span.pretraining.model_files import export_tf1
from bert_span.run_squad import RunSquadOptions
from tests.support.models import eagerly, shared_model
from tests.support.programs import (
  parse_flags,
  refusal,
  succeeds,
  succeeds_here,
  undeclared_files,
)
from tests.support.squad import (
  CONTEXT,
  read,
  spans,
  squad_content,
  squad_flags,
  squad_options,
)

# What the original defines, with its defaults.
_ORIGINAL_FLAGS = {
  **dict.fromkeys(["bert_config_file", "vocab_file", "output_dir"]),
  **dict.fromkeys(["train_file", "predict_file", "init_checkpoint"]),
  **dict.fromkeys(["tpu_name", "tpu_zone", "gcp_project", "master"]),
  **dict.fromkeys(["do_train", "do_predict", "use_tpu"], False),
  **dict.fromkeys(["verbose_logging", "version_2_with_negative"], False),
  **dict.fromkeys(["save_checkpoints_steps", "iterations_per_loop"], 1000),
  "do_lower_case": True,
  "max_seq_length": 384,
  "doc_stride": 128,
  "max_query_length": 64,
  "train_batch_size": 32,
  "predict_batch_size": 8,
  "learning_rate": 5e-5,
  "num_train_epochs": 3.0,
  "warmup_proportion": 0.1,
  "n_best_size": 20,
  "max_answer_length": 30,
  "num_tpu_cores": 8,
  "null_score_diff_threshold": 0.0,
}
# The values of options that no flag gives, where they are others: the preset
# says whether it is cased, and a TPU may have any number of cores.
_WITHOUT_FLAGS = {
  **_ORIGINAL_FLAGS,
  "do_lower_case": None,
  "num_tpu_cores": None,
  "output_dir": REQUIRED,
}

_ALL_STEPS = dict.fromkeys(("do_train", "do_predict", "do_eval"), True)
_HEART = {**_ALL_STEPS, "num_train_epochs": 40}
# As calibrate writes it.
_FITTED = {"temperature": 1.5, "null_score_diff_threshold": -2.5}


@pytest.fixture(scope="module")
def run(squad_folder):
  """A function that runs the job on files of a folder."""

  def run(output_dir, folder=squad_folder, **options):
    options = squad_options(folder, output_dir, **options)
    job.run_squad(RunSquadOptions(**options))

  return run


@pytest.fixture(scope="module")
def trained(run, squad_folder, tmp_path_factory):
  """The folder of a run on relative paths that learned eight questions."""
  folder = tmp_path_factory.mktemp("trained")
  shutil.copytree(squad_folder, folder / "data")
  with contextlib.chdir(folder):
    run("run", pathlib.Path("data"), **_HEART)
  return folder / "run"


@pytest.fixture
def copied(trained, tmp_path):
  """A copy of that folder in another place."""
  return shutil.copytree(trained, tmp_path / "copy")


@pytest.mark.large
def test_a_run_has_the_files_of_its_steps(trained):
  predictions = read(trained / "predictions.json")
  assert list(predictions) == [f"q{i}" for i in range(8)]
  for qas_id, entries in read(trained / "nbest_predictions.json").items():
    assert entries[0]["text"] == predictions[qas_id]
    for entry in entries:
      span = CONTEXT[entry["char_start"] : entry["char_end"]]
      assert span == entry["text"]
  assert not (trained / "null_odds.json").exists()
  assert (trained / "train").is_dir()
  flags = parse_flags("bert_span.run_squad", f"--flagfile={trained}/run.flags")
  assert (flags.do_train, flags.learning_rate) == (True, 0.01)


@pytest.mark.large
def test_questions_learned_by_heart_are_answered(trained):
  scores = read(trained / "eval_results.json")
  assert scores == {"exact_match": 100.0, "f1": 100.0}
  extractor = SpanExtractor.from_preset(trained / "model")
  assert extractor.window_options.max_seq_length == 32
  with eagerly():
    assert extractor.answer("Who built the mill?", CONTEXT).text == "Anna"


@pytest.mark.large
def test_a_finished_run_keeps_what_was_fitted_to_its_model(run, copied, capsys):
  predictions = read(copied / "predictions.json")
  before = read(copied / "nbest_predictions.json")["q0"][0]["probability"]
  update_decoder(copied / "model", _FITTED)
  task = read(copied / "model/task.json")
  with eagerly():
    run(copied, **_HEART)
  assert "nothing to train" in capsys.readouterr().err
  assert read(copied / "model/task.json") == task
  assert read(copied / "predictions.json") == predictions
  after = read(copied / "nbest_predictions.json")["q0"][0]["probability"]
  assert after != before


@pytest.mark.large
def test_another_training_drops_what_was_fitted(run, copied):
  update_decoder(copied / "model", _FITTED)
  for path in (*copied.glob("*ckpt*"), *copied.glob("training_options*")):
    path.unlink()
  (copied / "checkpoint").unlink()
  run(copied, do_train=True, num_train_epochs=1)
  decoder = read_span_config(copied / "model")["decoder"]
  assert decoder["temperature"] is None
  assert decoder["null_score_diff_threshold"] == 0


@pytest.mark.large
def test_a_moved_run_with_a_damaged_list_has_nothing_to_train(
  run, copied, squad_folder, monkeypatch, capsys
):
  (copied / "checkpoint").write_text("garbage")
  shutil.copytree(squad_folder, copied.parent / "data")
  monkeypatch.chdir(copied)
  run(".", pathlib.Path("../data"), do_train=True, num_train_epochs=40)
  assert "nothing to train" in capsys.readouterr().err


@pytest.mark.large
def test_questions_that_are_cut_are_named(run, copied, capsys):
  with eagerly():
    run(copied, do_predict=True, max_query_length=3)
  error = capsys.readouterr().err
  assert re.search("'q0' .*max_query_length=3.* 7 more", error)


@pytest.mark.large
def test_a_dry_run_reads_questions_from_any_file_system(
  run, squad_folder, tmp_path, capsys
):
  path, out = f"file://{squad_folder}/v1.json", tmp_path / "out"
  files = {"train_file": path, "predict_file": path}
  steps = {"dry_run": True, "do_train": True, "do_predict": True}
  run(out, **files, **steps, length_bucket=8)
  lines = capsys.readouterr().out.splitlines()
  numbers = [re.findall(r"\d+", line) for line in lines]
  # Windows, questions and windows without an answer; steps, their windows,
  # warm-up and checkpoint; windows and WordPieces of a step; questions.
  assert numbers[1] == ["8", "8", "0"]
  assert numbers[2] == ["40", "4", "4", "15"]
  assert numbers[3][-3:-1] == ["4", "24"]
  assert numbers[4] == ["8"]
  assert not out.exists()


class _StoppedError(Exception):
  """Instead of a training."""


@pytest.mark.large
def test_a_new_model_follows_the_seed(run, tmp_path, monkeypatch):
  weights = []

  def stop(extractor, *_, **options):
    weights.append(np.concatenate([w.ravel() for w in extractor.get_weights()]))
    raise _StoppedError

  monkeypatch.setattr(job, "train_on", stop)
  for seed in (7, 7, 8):
    with pytest.raises(_StoppedError), eagerly():
      run(tmp_path / "out", do_train=True, seed=seed)
  np.testing.assert_array_equal(weights[0], weights[1])
  assert np.any(weights[0] != weights[2])


_SELECTED = {
  **_ALL_STEPS,
  "version_2": True,
  "num_train_epochs": 2,
  "eval_steps": 2,
  "best_metric": "exact_match",
  "write_logits": True,
}


@pytest.fixture(scope="module")
def selected(run, tmp_path_factory):
  """The folder of a run that evaluated its model twice and kept the best."""
  folder = tmp_path_factory.mktemp("selected")
  run(folder, **_SELECTED)
  return folder


@pytest.mark.large
def test_the_best_model_of_a_training_is_scored(selected):
  selection = read(selected / "model" / "selection.json")
  exact = read(selected / "eval_results.json")["exact"]
  assert selection["metric"] == "exact"
  assert selection["scores"]["exact"] == exact
  rows = read(selected / "evaluations.json")["evaluations"]
  assert [row["step"] for row in rows] == [2, 4]
  assert exact == max(row["scores"]["exact"] for row in rows)


@pytest.mark.large
def test_every_file_of_a_run_is_declared(selected):
  # Event files have new names.
  assert undeclared_files("run_squad", selected) == {"train/", "eval/"}


@pytest.mark.large
def test_a_selected_model_keeps_what_was_fitted_to_it(run, selected, tmp_path):
  folder = shutil.copytree(selected, tmp_path / "copy")
  update_decoder(folder / "model", _FITTED)
  task = read(folder / "model/task.json")
  lists = []
  for options in (_SELECTED, {"do_predict": True, "version_2": True}):
    with eagerly():
      run(folder, **options)
    assert read(folder / "model/task.json") == task
    lists.append(read(folder / "nbest_predictions.json"))
  assert lists[0] == lists[1]


def _annotated():
  """Two questions, four times: one of two spans, one that annotators split."""
  questions = [
    ("Who built the mill?", [["Anna", "the river"]]),
    ("When was the mill built?", [["1895"], ["in 1895"], ["1895"]]),
  ]
  rows = []
  for i, (question, annotators) in enumerate(questions * 4):
    marked = [
      spans(*((text, CONTEXT.index(text)) for text in texts))
      for texts in annotators
    ]
    rows.append({"id": f"q{i}", "question": question, "annotations": marked})
  return squad_content(CONTEXT, *rows)


@pytest.mark.large
def test_a_bio_head_learns_several_spans_of_several_annotators(
  run, tmp_path, capsys
):
  data, out = tmp_path / "annotated.json", tmp_path / "out"
  data.write_text(json.dumps(_annotated()))
  files = {"train_file": data, "predict_file": data}
  run(
    out,
    **files,
    **_HEART,
    head="bio",
    write_logits=True,
    bio_class_weights=(2.0, 2.0, 1.0),
  )
  predicted = read(out / "span_predictions.json")
  assert [s["text"] for s in predicted["q0"]] == ["Anna", "the river"]
  for span in (span for found in predicted.values() for span in found):
    assert CONTEXT[span["char_start"] : span["char_end"]] == span["text"]
  assert [s["text"] for s in predicted["q1"]] == ["1895"]
  scores = read(out / "eval_results.json")
  assert scores["exact_match_f1"] == scores["overlap_f1"] == 100
  assert scores["f1"] == 100
  # The split of 2 to 1 is learned: 1/3 at "in", 2/3 B at "1895".
  gap = scores["tag_cross_entropy"] - scores["annotator_entropy"]
  assert 0 <= gap < 0.05
  (row, *_) = read(out / "disagreement.json")
  assert [token["text"] for token in row["tokens"]] == ["in", "1895"]
  assert row["tokens"][0]["annotators"]["B"] == pytest.approx(1 / 3, abs=1e-3)
  # Exact and partial matches: precision, recall and F1.
  assert len(re.findall("(?: +100.00){3}", capsys.readouterr().out)) == 2
  with np.load(out / "logits.npz") as logits:
    assert logits["tag_logits"].shape == (8, 32, 3)

  # Predicting alone finds the head in the model; another one is refused.
  texts = read(out / "predictions.json")
  with eagerly():
    run(out, **files, do_predict=True)
  assert read(out / "predictions.json") == texts
  command = re.search("python -m (.+)", capsys.readouterr().err)[1]
  scored = json.loads(succeeds_here(*shlex.split(command)).stdout)
  assert scored["overlap_f1"] == 100 and scored.items() <= scores.items()
  with pytest.raises(ValueError, match="head=bio"):
    run(out, **files, do_predict=True, head="span")


@pytest.mark.large
def test_a_command_line_of_many_flags_does_what_they_say(
  squad_folder, tmp_path
):
  """In another process: TensorFlow divides a CPU only before it begins."""
  flags = squad_flags(
    *(squad_folder, tmp_path, "--do_train", "--do_predict", "--do_eval"),
    *("--length_buckets=none", "--span_score=mean_probability"),
    *("--drop_answerless_windows", "--bio_threshold=0.5", "--write_logits"),
    *("--nospan_head_bias", "--adam_bias_correction", "--loss_reduction=sum"),
    *("--master=grpc://x", "--num_devices=2", "--precision=bfloat16"),
    *("--recompute", "--accumulate_steps=2", "--num_train_epochs=2"),
    version_2=True,
  )
  error = succeeds("bert_span.run_squad", *flags).stderr
  assert len(re.findall("master has no effect", error)) == 1
  assert re.search("bio_threshold .*head=bio", error)
  assert "2 CPUs, 2 of a batch's 4" in error
  assert set(read(tmp_path / "null_odds.json")) == {f"q{i}" for i in range(8)}
  scores = read(tmp_path / "eval_results.json")
  assert {"exact", "HasAns_f1", "NoAns_f1", "best_f1_thresh"} <= set(scores)
  assert scores["total"] == 8
  with np.load(tmp_path / "logits.npz") as logits:
    assert logits["start_logits"].shape == (8, 32)
  extractor = SpanExtractor.from_preset(tmp_path / "model")
  assert not extractor.head.use_bias
  assert extractor.decoder_options.version_2_with_negative


def test_a_fine_tuned_checkpoint_of_the_original_keeps_its_head(
  run, squad_folder, tmp_path
):
  config = read_bert_config(str(squad_folder / "bert_config.json"))
  weights = np.random.default_rng(0).normal(size=[2, config.hidden_dim])
  head = {
    "cls/squad/output_weights": weights.astype(np.float32),
    "cls/squad/output_bias": np.zeros([2], np.float32),
  }
  export_tf1(build_encoder(config), str(tmp_path), head)
  out = tmp_path / "out"
  with pytest.raises(ValueError, match="span head"):
    run(out, do_predict=True)
  assert not out.exists()
  checkpoint = f"{tmp_path}/bert_model.ckpt"
  with eagerly():
    run(out, do_predict=True, init_checkpoint=checkpoint)
  assert len(read(out / "predictions.json")) == 8


@pytest.mark.parametrize("version_2", [False, True])
def test_predictions_are_scored_by_the_command_that_the_log_gives(
  run, squad_folder, tmp_path, capsys, version_2
):
  """It is for labelled questions, and gives the scores of do_eval."""
  options = {"bert_config_file": None, "vocab_file": None}
  options |= {"preset": shared_model(), "version_2": version_2}
  out = tmp_path / "the run"
  with eagerly():
    run(out, **options, do_predict=True, null_score_diff_threshold=-3.0)
    command = re.search("python -m (.+)", capsys.readouterr().err)[1]
    run(out, **options, do_eval=True, null_score_diff_threshold=-3.0)
  assert "python -m" not in capsys.readouterr().err
  scored = succeeds_here(*shlex.split(command))
  assert json.loads(scored.stdout) == read(out / "eval_results.json")
  content = read(squad_folder / "v1.json")
  (paragraph,) = content["data"][0]["paragraphs"]
  for question in paragraph["qas"]:
    del question["answers"]
  (tmp_path / "asked.json").write_text(json.dumps(content))
  options["predict_file"] = tmp_path / "asked.json"
  with eagerly():
    run(out, **options, do_predict=True)
  assert "python -m" not in capsys.readouterr().err


def test_a_model_of_a_hub_answers(run, hub_model, tmp_path):
  model = {"bert_config_file": None, "vocab_file": None, "preset": hub_model}
  with eagerly():
    run(tmp_path, **model, do_predict=True)
  assert len(read(tmp_path / "predictions.json")) == 8


def test_without_a_trained_model_nothing_is_predicted(run, tmp_path):
  options = {"bert_config_file": None, "vocab_file": None, "do_predict": True}
  with pytest.raises(ValueError, match=f"{tmp_path}/model.*`preset`"):
    run(tmp_path, **options)
  for ending in (".index", ".data-00000-of-00001"):
    (tmp_path / f"model.ckpt-3{ending}").touch()
  with pytest.raises(ValueError, match=f"{tmp_path} .*do_train"):
    run(tmp_path, **options)


def test_a_run_that_cannot_train_writes_nothing(squad_folder, tmp_path):
  missing = f"--predict_file={tmp_path}/missing.json"
  steps = ("--do_train", "--do_predict")
  flags = squad_flags(squad_folder, tmp_path, *steps, missing)
  assert "missing.json" in refusal("bert_span.run_squad", *flags)
  assert not list(tmp_path.iterdir())


def test_every_flag_of_the_original_is_there_with_its_default():
  flags = parse_flags("bert_span.run_squad")
  assert {f: flags[f].default for f in _ORIGINAL_FLAGS} == _ORIGINAL_FLAGS
  fields = {flag_name(f): f.default for f in option_fields(RunSquadOptions)}
  assert {f: fields[f] for f in _ORIGINAL_FLAGS} == _WITHOUT_FLAGS
