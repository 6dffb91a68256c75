"""run_squad as a user runs it: on a tiny model and a few questions."""

import json
import pathlib
import re
import shutil

import numpy as np
import pytest

from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.modeling.encoder import build_encoder
from bert_span.presets.encoder_weights import read_bert_config
from bert_span.presets.span_config import read_span_config, update_decoder
from bert_span.pretraining.model_files import export_tf1
from tests.support.programs import (
  parse_flags,
  refusal,
  run_here,
  succeeds,
  succeeds_here,
)
from tests.support.squad import (
  CONTEXT,
  read,
  run_squad,
  spans,
  squad_content,
  squad_flags,
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

_DATA = ("train", "predict")
_ALL_STEPS = ("--do_train", "--do_predict", "--do_eval")


@pytest.mark.large
def test_trains_predicts_and_scores_then_continues(squad_folder, tmp_path):
  flags = (*_ALL_STEPS, "--num_train_epochs=40")
  run_squad(squad_folder, tmp_path, *flags)
  predictions = read(tmp_path / "predictions.json")
  n_best = read(tmp_path / "nbest_predictions.json")
  assert list(predictions) == [f"q{i}" for i in range(8)]
  for qas_id, entries in n_best.items():
    assert entries[0]["text"] == predictions[qas_id]
    for entry in entries:
      span = CONTEXT[entry["char_start"] : entry["char_end"]]
      assert span == entry["text"]
  scores = read(tmp_path / "eval_results.json")
  assert set(scores) == {"exact_match", "f1"}
  assert scores["exact_match"] == 100.0  # eight questions, learnt by heart
  assert not (tmp_path / "null_odds.json").exists()
  assert "--learning_rate=0.01" in (tmp_path / "run.flags").read_text()
  assert (tmp_path / "train").is_dir()
  extractor = SpanExtractor.from_preset(tmp_path / "model")
  assert extractor.window_options.max_seq_length == 32
  answer = extractor.answer(question="Who built the mill?", context=CONTEXT)
  assert answer.text == "Anna"

  # As calibrate writes it.
  changes = {"temperature": 1.5, "null_score_diff_threshold": -2.5}
  update_decoder(tmp_path / "model", changes)
  fitted = read(tmp_path / "model/task.json")
  again = run_squad(squad_folder, tmp_path, *flags)
  assert "nothing to train" in again.stderr
  assert read(tmp_path / "predictions.json") == predictions
  assert read(tmp_path / "model/task.json") == fitted
  found = read(tmp_path / "nbest_predictions.json")["q0"][0]["probability"]
  assert found != n_best["q0"][0]["probability"]
  cut = run_squad(
    squad_folder, tmp_path, "--do_predict", "--max_query_length=3"
  )
  assert re.search("'q0' .*max_query_length=3.* 7 more", cut.stderr)
  words = f"--flagfile={tmp_path}/run.flags", f"--output_dir={tmp_path}/new"
  repeated = succeeds("bert_span.run_squad", "--dry_run", *words)
  assert "nothing is trained" in repeated.stdout
  # Another training does not get what was fitted to these weights.
  for path in (*tmp_path.glob("*ckpt*"), *tmp_path.glob("training_options*")):
    path.unlink()
  (tmp_path / "checkpoint").unlink()
  run_squad(squad_folder, tmp_path, "--do_train", "--num_train_epochs=1")
  decoder = read_span_config(tmp_path / "model")["decoder"]
  assert decoder["temperature"] is None
  assert decoder["null_score_diff_threshold"] == 0


@pytest.mark.large
def test_relative_paths_a_damaged_list_and_a_moved_folder(
  squad_folder, tmp_path, monkeypatch
):
  shutil.copytree(squad_folder, tmp_path / "data")
  monkeypatch.chdir(tmp_path)

  def run(*flags, data="data", output_dir="run"):
    flags = squad_flags(
      pathlib.Path(data), output_dir, "--num_train_epochs=2", *flags
    )
    return succeeds_here("bert_span.run_squad", *flags).stderr

  steps = ["--eval_steps=2", "--save_checkpoints_steps=2"]
  run("--do_train", *steps)
  (tmp_path / "run/checkpoint").write_text("garbage")
  assert "nothing to train" in run("--do_train", *steps)
  (tmp_path / "elsewhere").mkdir()
  (tmp_path / "run").rename("elsewhere/moved")
  monkeypatch.chdir("elsewhere")
  again = run("--do_train", *steps, data="../data", output_dir="moved")
  assert "nothing to train" in again
  run("--do_predict", "--do_eval", data="../data", output_dir="moved")
  assert set(read(tmp_path / "elsewhere/moved/eval_results.json")) == {
    *("exact_match", "f1")
  }


@pytest.mark.large
def test_a_selected_model_keeps_what_was_fitted_to_it(squad_folder, tmp_path):
  flags = *_ALL_STEPS, "--num_train_epochs=10", "--eval_steps=10"
  run_squad(squad_folder, tmp_path, *flags, version_2=True)
  changes = {"temperature": 1.5, "null_score_diff_threshold": -2.5}
  update_decoder(tmp_path / "model", changes)
  task = read(tmp_path / "model/task.json")
  lists = []
  for steps in (flags, ("--do_predict",)):
    run_squad(squad_folder, tmp_path, *steps, version_2=True)
    assert read(tmp_path / "model/task.json") == task
    lists.append(read(tmp_path / "nbest_predictions.json"))
  assert lists[0] == lists[1]


@pytest.mark.large
def test_a_dry_run_reads_questions_from_any_file_system(squad_folder, tmp_path):
  out = tmp_path / "out"
  steps = ("--dry_run", "--do_train", "--do_predict", "--length_buckets=8")
  files = [f"--{n}_file=file://{squad_folder}/v1.json" for n in _DATA]
  flags = squad_flags(squad_folder, out, *steps, *files)
  run = succeeds_here("bert_span.run_squad", *flags)
  for part in (
    "Windows: 8 of 8 questions",
    "Steps: 40 of 4 windows",
    "4 windows of 24 WordPieces",
    "Then 8 questions",
  ):
    assert part in run.stdout
  for name in _DATA:
    for path in ("ram://none.json", "none://v1.json"):
      flags = squad_flags(squad_folder, out, *steps, f"--{name}_file={path}")
      run = run_here("bert_span.run_squad", *flags)
      assert run.returncode == 1
      assert path in run.stderr.splitlines()[-1]
  assert not out.exists()


@pytest.mark.large
def test_the_best_model_of_each_seed_is_scored(squad_folder, tmp_path):
  for seed in (7, 8):
    out = tmp_path / f"seed_{seed}"
    run_squad(
      *(squad_folder, out, *_ALL_STEPS, f"--seed={seed}"),
      *("--num_train_epochs=2", "--eval_steps=2", "--best_metric=exact_match"),
      version_2=True,
    )
    # What --do_predict scored is the best model of the training.
    selection = read(out / "model" / "selection.json")
    exact = read(out / "eval_results.json")["exact"]
    assert selection["metric"] == "exact"
    assert selection["scores"]["exact"] == exact
    rows = read(out / "evaluations.json")["evaluations"]
    assert [row["step"] for row in rows] == [2, 4]
    assert exact == max(row["scores"]["exact"] for row in rows)
  heads = tmp_path.glob("seed_*/model/task.weights.h5")
  assert len({path.read_bytes() for path in heads}) == 2


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
  squad_folder, tmp_path
):
  data = tmp_path / "annotated.json"
  data.write_text(json.dumps(_annotated()))
  flags = (f"--train_file={data}", f"--predict_file={data}")
  out = tmp_path / "out"
  run = run_squad(
    *(squad_folder, out, *flags, *_ALL_STEPS, "--head=bio"),
    *("--num_train_epochs=40", "--write_logits", "--bio_class_weights=2,2,1"),
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
  assert re.search(r"partial match +100.00 +100.00 +100.00", run.stdout)
  with np.load(out / "logits.npz") as logits:
    assert logits["tag_logits"].shape == (8, 32, 3)

  # Predicting alone finds the head in the model; another one is refused.
  run_squad(squad_folder, out, *flags, "--do_predict")
  assert read(out / "span_predictions.json") == predicted
  flags = squad_flags(squad_folder, out, *flags, "--do_predict", "--head=span")
  assert "--head=bio" in refusal("bert_span.run_squad", *flags)


@pytest.mark.large
def test_version_2_writes_null_odds_and_the_official_scores(
  squad_folder, tmp_path
):
  run = run_squad(
    *(squad_folder, tmp_path, *_ALL_STEPS, "--length_buckets=none"),
    *("--span_score=mean_probability", "--drop_answerless_windows"),
    "--bio_threshold=0.5",
    *("--write_logits", "--nospan_head_bias", "--adam_bias_correction"),
    *("--loss_reduction=sum", "--master=grpc://x", "--num_devices=2"),
    *("--precision=bfloat16", "--recompute", "--accumulate_steps=2"),
    "--num_train_epochs=2",
    version_2=True,
  )
  assert len(re.findall("master has no effect", run.stderr)) == 1
  assert "bio_threshold has no effect without head=bio" in run.stderr
  assert "Training on 2 CPUs, 2 of a batch's 4" in run.stderr
  assert set(read(tmp_path / "null_odds.json")) == {f"q{i}" for i in range(8)}
  scores = read(tmp_path / "eval_results.json")
  assert {"exact", "HasAns_f1", "NoAns_f1", "best_f1_thresh"} <= set(scores)
  assert scores["total"] == 8
  with np.load(tmp_path / "logits.npz") as logits:
    assert logits["start_logits"].shape == (8, 32)
  extractor = SpanExtractor.from_preset(tmp_path / "model")
  assert not extractor.head.use_bias
  assert extractor.decoder_options.version_2_with_negative


@pytest.mark.large
def test_a_fine_tuned_checkpoint_of_the_original_keeps_its_head(
  squad_folder, tmp_path
):
  config = read_bert_config(str(squad_folder / "bert_config.json"))
  weights = np.random.default_rng(0).normal(size=[2, config.hidden_dim])
  kind = {
    "cls/squad/output_weights": weights.astype(np.float32),
    "cls/squad/output_bias": np.zeros([2], np.float32),
  }
  export_tf1(build_encoder(config), str(tmp_path), kind)
  flags = squad_flags(squad_folder, tmp_path / "out", "--do_predict")
  assert "no span head" in refusal("bert_span.run_squad", *flags)
  assert not (tmp_path / "out").exists()
  flags.append(f"--init_checkpoint={tmp_path}/bert_model.ckpt")
  run = run_here("bert_span.run_squad", *flags)
  assert "with its span head" in run.stderr
  assert len(read(tmp_path / "out" / "predictions.json")) == 8


def test_a_run_that_cannot_train_writes_nothing(squad_folder, tmp_path):
  missing = f"--predict_file={tmp_path}/missing.json"
  steps = ("--do_train", "--do_predict")
  flags = squad_flags(squad_folder, tmp_path, *steps, missing)
  assert "missing.json" in refusal("bert_span.run_squad", *flags)
  assert not list(tmp_path.iterdir())


def test_every_flag_of_the_original_is_there_with_its_default():
  flags = parse_flags("bert_span.run_squad")
  assert {f: flags[f].default for f in _ORIGINAL_FLAGS} == _ORIGINAL_FLAGS


def test_every_recipe_is_read_and_has_its_header(repository):
  for path in (repository / "flags").glob("*.flags"):
    text = path.read_text()
    for word in ("Command:", "Hardware:", "Time", "EM/F1:"):
      assert word in text, path
    program = re.search(r"^# Program: +python -m (\S+)", text).group(1)
    flags = parse_flags(program, f"--flagfile={path}")
    assert flags.do_train
    if program == "bert_span.run_squad":
      assert flags.version_2_with_negative == path.stem.endswith(
        ("squad2", "minilm_squad", "quickstart")
      )
