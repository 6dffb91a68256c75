"""run_squad as a user runs it: on a tiny model and a few questions."""

import json
import re

import numpy as np
import pytest
import tensorflow as tf
from programs import error_line, parse_flags, refusal
from squad_runs import CONTEXT, read, run_squad, squad_flags
from tiny_extractor import extractor_of

from bert_span.extractor import SpanExtractor
from bert_span.modeling.encoder import build_encoder, read_bert_config
from bert_span.presets.huggingface import save_huggingface

# What the original defines, with its defaults.
_ORIGINAL_FLAGS = {
  "bert_config_file": None,
  "vocab_file": None,
  "output_dir": None,
  "train_file": None,
  "predict_file": None,
  "init_checkpoint": None,
  "do_lower_case": True,
  "max_seq_length": 384,
  "doc_stride": 128,
  "max_query_length": 64,
  "do_train": False,
  "do_predict": False,
  "train_batch_size": 32,
  "predict_batch_size": 8,
  "learning_rate": 5e-5,
  "num_train_epochs": 3.0,
  "warmup_proportion": 0.1,
  "save_checkpoints_steps": 1000,
  "iterations_per_loop": 1000,
  "n_best_size": 20,
  "max_answer_length": 30,
  "use_tpu": False,
  "tpu_name": None,
  "tpu_zone": None,
  "gcp_project": None,
  "master": None,
  "num_tpu_cores": 8,
  "verbose_logging": False,
  "version_2_with_negative": False,
  "null_score_diff_threshold": 0.0,
}


@pytest.mark.large
def test_trains_predicts_and_scores_then_continues(squad_folder, tmp_path):
  steps = ("--do_train", "--do_predict", "--do_eval")
  run = run_squad(squad_folder, tmp_path, *steps, "--num_train_epochs=40")
  assert run.returncode == 0, run.stderr
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

  again = run_squad(squad_folder, tmp_path, *steps, "--num_train_epochs=40")
  assert again.returncode == 0, again.stderr
  assert "nothing to train" in again.stderr
  assert read(tmp_path / "predictions.json") == predictions

  other = run_squad(squad_folder, tmp_path, *steps, "--num_train_epochs=41")
  assert "num_train_steps" in error_line(other)


@pytest.mark.large
def test_several_seeds_are_trained_scored_and_compared(squad_folder, tmp_path):
  flags = (
    *("--do_train", "--do_predict", "--do_eval", "--version_2_with_negative"),
    *("--num_train_epochs=4", "--eval_steps=4", "--best_metric=exact_match"),
  )
  run = run_squad(
    squad_folder, tmp_path, *flags, "--num_seeds=2", "--seed=7", version_2=True
  )
  assert run.returncode == 0, run.stderr
  result = read(tmp_path / "seeds.json")
  assert [entry["seed"] for entry in result["runs"]] == [7, 8]
  exact = []
  for entry in result["runs"]:
    out = tmp_path / f"seed_{entry['seed']}"
    assert entry["scores"] == read(out / "eval_results.json")
    exact.append(entry["scores"]["exact"])
    # What --do_predict scored is the best model of the training.
    selection = read(out / "model" / "selection.json")
    assert selection["metric"] == "exact"
    assert selection["scores"]["exact"] == exact[-1]
    rows = read(out / "evaluations.json")["evaluations"]
    assert [row["step"] for row in rows] == [4, 8]
    assert exact[-1] == max(row["scores"]["exact"] for row in rows)
  assert result["mean"]["exact"] == pytest.approx(np.mean(exact))
  assert result["deviation"]["exact"] == pytest.approx(np.std(exact, ddof=1))
  assert "deviation" in run.stdout
  weights = [
    tf.train.load_variable(
      str(tmp_path / f"seed_{seed}" / "model.ckpt-8"),
      "weights/0/.ATTRIBUTES/VARIABLE_VALUE",
    )
    for seed in (7, 8)
  ]
  assert not np.array_equal(*weights)


def _annotated():
  """Two questions, four times: one of two spans, one that annotators split."""
  anna, river = _span("Anna"), _span("the river")
  year, in_year = _span("1895"), _span("in 1895")
  qas = []
  for i in range(8):
    who = {"question": "Who built the mill?", "annotations": [[anna, river]]}
    when = {
      "question": "When was the mill built?",
      "annotations": [[year], [in_year], [year]],
    }
    qas.append({"id": f"q{i}", **(when if i % 2 else who)})
  paragraph = {"context": CONTEXT, "qas": qas}
  return {"data": [{"title": "Mill", "paragraphs": [paragraph]}]}


def _span(text):
  return {"text": text, "answer_start": CONTEXT.index(text)}


@pytest.mark.large
def test_a_bio_head_learns_several_spans_of_several_annotators(
  squad_folder, tmp_path
):
  data = tmp_path / "annotated.json"
  data.write_text(json.dumps(_annotated()))
  flags = (f"--train_file={data}", f"--predict_file={data}")
  out = tmp_path / "out"
  run = run_squad(
    squad_folder,
    out,
    *flags,
    *("--head=bio", "--do_train", "--do_predict", "--do_eval"),
    *("--num_train_epochs=40", "--write_logits", "--bio_class_weights=2,2,1"),
  )
  assert run.returncode == 0, run.stderr
  spans = read(out / "span_predictions.json")
  assert [s["text"] for s in spans["q0"]] == ["Anna", "the river"]
  for qas_id in spans:
    for span in spans[qas_id]:
      text = CONTEXT[span["char_start"] : span["char_end"]]
      assert text == span["text"]
  assert [s["text"] for s in spans["q1"]] == ["1895"]
  scores = read(out / "eval_results.json")
  assert scores["exact_match_f1"] == scores["overlap_f1"] == 100
  assert scores["f1"] == 100
  # The split of 2 to 1 is learned: 1/3 at "in", 2/3 B at "1895".
  gap = scores["tag_cross_entropy"] - scores["annotator_entropy"]
  assert 0 <= gap < 0.05
  (row, *_) = read(out / "disagreement.json")
  assert [token["text"] for token in row["tokens"]] == ["in", "1895"]
  assert row["tokens"][0]["annotators"]["B"] == pytest.approx(1 / 3, abs=1e-3)
  assert "partial match" in run.stdout
  with np.load(out / "logits.npz") as logits:
    assert logits["tag_logits"].shape == (8, 32, 3)

  # Predicting alone finds the head in the model; another one is refused.
  again = run_squad(squad_folder, out, *flags, "--do_predict")
  assert again.returncode == 0, again.stderr
  assert read(out / "span_predictions.json") == spans
  other = run_squad(squad_folder, out, *flags, "--do_predict", "--head=span")
  assert "--head=bio" in error_line(other)


@pytest.mark.large
@pytest.mark.parametrize("architecture", ["distilbert", "electra", "roberta"])
def test_a_hugging_face_directory_learns_a_bio_head_on_two_devices(
  squad_folder, tmp_path, architecture
):
  extractor = extractor_of(architecture)
  directory = tmp_path / "huggingface"
  save_huggingface(extractor.model, extractor.preprocessor.tokenizer, directory)
  options = extractor.window_options
  run = run_squad(
    squad_folder,
    tmp_path / "out",
    *("--bert_config_file=", "--vocab_file=", f"--preset={directory}"),
    f"--max_seq_length={options.max_seq_length}",
    f"--max_query_length={options.max_query_length}",
    *("--do_train", "--do_predict", "--do_eval", "--head=bio"),
    *("--num_devices=2", "--num_train_epochs=40"),
  )
  assert run.returncode == 0, run.stderr
  assert "Training on 2 CPUs (mirrored)" in run.stderr
  assert read(tmp_path / "out" / "eval_results.json")["exact_match_f1"] == 100


@pytest.mark.large
def test_version_2_writes_null_odds_and_the_official_scores(
  squad_folder, tmp_path
):
  run = run_squad(
    squad_folder,
    tmp_path,
    *("--do_train", "--do_predict", "--do_eval", "--length_buckets=none"),
    *("--span_score=mean_probability", "--drop_answerless_windows"),
    *("--write_logits", "--nospan_head_bias", "--adam_bias_correction"),
    *("--loss_reduction=sum", "--master=grpc://x", "--num_devices=2"),
    *("--precision=bfloat16", "--recompute", "--accumulate_steps=2"),
    version_2=True,
  )
  assert run.returncode == 0, run.stderr
  assert len(re.findall("--master has no effect", run.stderr)) == 1
  assert "Training on 2 CPUs (mirrored), 2 of a batch's 4" in run.stderr
  assert set(read(tmp_path / "null_odds.json")) == {f"q{i}" for i in range(8)}
  scores = read(tmp_path / "eval_results.json")
  assert {"exact", "HasAns_f1", "NoAns_f1", "best_f1_thresh"} <= set(scores)
  assert scores["total"] == 8
  with np.load(tmp_path / "logits.npz") as logits:
    assert logits["start_logits"].shape == (8, 32)
  extractor = SpanExtractor.from_preset(tmp_path / "model")
  assert not extractor.model.head.use_bias
  assert extractor.decoder_options.version_2_with_negative


@pytest.mark.large
def test_a_fine_tuned_checkpoint_of_the_original_keeps_its_head(
  squad_folder, tmp_path
):
  checkpoint = write_original_checkpoint(
    squad_folder, tmp_path / "bert_model.ckpt"
  )
  flags = (f"--init_checkpoint={checkpoint}", "--do_predict")
  run = run_squad(squad_folder, tmp_path / "out", *flags)
  assert run.returncode == 0, run.stderr
  assert "with its span head" in run.stderr
  assert len(read(tmp_path / "out" / "predictions.json")) == 8


@pytest.mark.large
def test_a_model_without_a_head_does_not_predict(squad_folder, tmp_path):
  run = run_squad(squad_folder, tmp_path, "--do_predict")
  assert "no span head" in error_line(run)


@pytest.mark.parametrize(
  ("flags", "message"),
  [
    ((), "At least one of --do_train"),
    (("--do_train", "--train_file="), "--train_file or --dataset"),
    (("--do_predict", "--predict_file="), "--predict_file or --dataset"),
    (("--do_train", "--preset=x"), "--preset"),
    (("--do_train", "--vocab_file="), "--vocab_file"),
    (("--do_train", "--dataset=squad/v1.1"), "--dataset"),
    (("--do_train", "--use_tpu", "--precision=float16"), "bfloat16"),
    (
      ("--do_train", "--use_tpu", "--length_buckets=32"),
      "--length_buckets=none",
    ),
    (
      ("--do_train", "--distribution=one_device", "--num_devices=2"),
      "--distribution=mirrored",
    ),
    (("--do_train", "--distribution=multi_worker_mirrored"), "TF_CONFIG"),
    (("--do_train", "--accumulate_steps=5"), "--accumulate_steps=5"),
    (("--do_train", "--max_seq_length=15"), "max_query_length (12)"),
    (("--do_train", "--length_buckets=many"), "--length_buckets"),
    (("--do_train", "--learning_rate=0"), "--learning_rate"),
    (("--do_train", "--output_dir="), "--output_dir is required"),
    (("--do_train", "--bio_class_weights=1,2"), "bio_class_weights"),
    (("--eval_steps=5", "--do_predict"), "--eval_steps needs --do_train"),
    (
      ("--do_train", "--eval_steps=5", "--predict_file="),
      "--eval_steps needs --predict_file",
    ),
    (
      ("--do_train", "--eval_steps=5", "--best_metric=overlap_f1"),
      "--best_metric=overlap_f1 is not a metric of a span head",
    ),
    (
      ("--do_train", "--early_stopping_patience=2"),
      "--early_stopping_patience needs --eval_steps",
    ),
    (("--do_train", "--num_seeds=2"), "--num_seeds needs"),
    (("--do_train", f"--length_buckets={10**21}"), "--length_buckets"),
  ],
)
def test_flags_that_do_not_fit_are_refused(
  squad_folder, tmp_path, flags, message
):
  output_dir = tmp_path / "out"
  given = squad_flags(squad_folder, output_dir, *flags)
  assert message in refusal("bert_span.run_squad", *given)
  assert not output_dir.exists()


@pytest.mark.large
def test_a_tpu_that_is_not_there_is_one_line(squad_folder, tmp_path):
  run = run_squad(squad_folder, tmp_path / "out", "--do_train", "--use_tpu")
  assert "There is no TPU of the name local" in error_line(run)
  assert not (tmp_path / "out").exists()


def test_every_flag_of_the_original_is_there_with_its_default():
  flags = parse_flags("bert_span.run_squad")
  assert {f: flags[f].default for f in _ORIGINAL_FLAGS} == _ORIGINAL_FLAGS


@pytest.mark.parametrize(
  "recipe",
  [
    *("bert_base_squad1", "bert_base_squad2", "bert_tiny", "bio_multispan"),
    *("bert_large_squad1", "bert_large_squad2", "quickstart"),
    *("minilm_squad", "minilm_squad1"),
    *("distilbert_squad1", "electra_base_squad2", "electra_small_squad2"),
    "roberta_base_squad2",
  ],
)
def test_every_recipe_is_read_and_has_its_header(repository, recipe):
  path = repository / "flags" / f"{recipe}.flags"
  text = path.read_text()
  for word in ("Program:", "Command:", "Hardware:", "Time", "EM/F1:"):
    assert word in text
  flags = parse_flags("bert_span.run_squad", f"--flagfile={path}")
  assert flags.do_train
  assert flags.version_2_with_negative == (
    recipe.endswith("squad2") or recipe in ("minilm_squad", "quickstart")
  )


def write_original_checkpoint(squad_folder, path):
  """A TensorFlow 1 checkpoint with the original's names, and a span head."""
  from bert_span.presets.encoder_weights import original_tensors

  config = read_bert_config(str(squad_folder / "bert_config.json"))
  backbone = build_encoder(config)
  hidden = config.hidden_dim
  tensors = {
    f"bert/{name}": value for name, value in original_tensors(backbone).items()
  }
  rng = np.random.default_rng(0)
  tensors["cls/squad/output_weights"] = rng.normal(size=[2, hidden])
  tensors["cls/squad/output_bias"] = np.zeros([2])
  with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    for name, value in tensors.items():
      tf.compat.v1.get_variable(
        name, initializer=tf.constant(value, tf.float32), use_resource=False
      )
    session.run(tf.compat.v1.global_variables_initializer())
    return tf.compat.v1.train.Saver().save(session, str(path))
