"""The programs of pre-training as users run them."""

import json
import shutil

import numpy as np
import pytest

from bert_span.presets.load_pretrained import load_original, load_pretrained
from bert_span.pretraining.model_files import read_pretraining_heads
from tests.support.models import extractor_of
from tests.support.programs import (
  refusal,
  succeeds,
  succeeds_here,
  undeclared_files,
)
from tests.support.squad import read, spans, squad_content, write_encoder_files
from tests.support.training import VOCABULARY, write_corpus

_LENGTHS = ("--max_seq_length=16", "--seed=3")
_TRAINING = (
  *(*_LENGTHS, "--do_train", "--train_batch_size=4", "--num_train_steps=6"),
  *("--num_warmup_steps=2", "--save_checkpoints_steps=3"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
  folder = tmp_path_factory.mktemp("pretraining")
  write_corpus(folder)
  write_encoder_files(folder, VOCABULARY)
  return folder


@pytest.fixture(scope="module")
def flags(folder):
  """Of a training from new weights on two files, scored on the third."""
  return (
    *(*_TRAINING, f"--bert_config_file={folder}/bert_config.json"),
    *(f"--vocab_file={folder}/vocab.txt", f"--input_file={folder}/[01].txt"),
    *("--do_eval", f"--eval_file={folder}/2.txt"),
    # So high that the model gets worse.
    *("--learning_rate=0.5", "--eval_steps=2", "--best_metric=mlm_loss"),
    # One of TensorFlow's file systems only, as gs:// is.
    f"--output_dir=file://{folder}/run",
  )


@pytest.fixture(scope="module")
def trained(folder, flags):
  """A finished run with evaluation: its folder and what it printed."""
  return folder / "run", succeeds("bert_span.run_pretraining", *flags)


@pytest.mark.large
def test_training_writes_model_exports_scores_and_curves(trained):
  output_dir, result = trained
  names = {path.name for path in output_dir.iterdir()}
  assert {
    *("model", "tf1", "huggingface", "train", "eval", "eval_results.json"),
    *("run.flags", "model.ckpt-6.index", "data_places.jsonl"),
  } <= names
  scores = read(output_dir / "eval_results.json")
  assert json.loads(result.stdout.splitlines()[-1]) == scores
  assert {"mlm_loss", "mlm_accuracy", "sbo_loss", "sbo_accuracy"} <= set(scores)
  assert "WordPieces/s" in result.stderr
  # One encoder in three formats.
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
def test_the_best_model_by_held_out_text_is_written_and_scored(
  trained, folder, flags
):
  output_dir, _ = trained
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
  result = succeeds(
    *("bert_span.run_pretraining", *_LENGTHS, "--do_eval", flags[-1]),
    f"--input_file={folder}/2.txt",
  )
  scores_again = json.loads(result.stdout.splitlines()[-1])
  for name in ("mlm_loss", "sbo_loss", "mlm_accuracy"):
    assert scores_again[name] == pytest.approx(scores[name], rel=1e-5)


@pytest.mark.large
def test_relative_paths_a_lost_list_and_a_moved_folder(
  folder, tmp_path, monkeypatch
):
  for name in ("vocab.txt", "bert_config.json", "0.txt", "1.txt"):
    shutil.copy(folder / name, tmp_path)
  monkeypatch.chdir(tmp_path)

  def run(data, output_dir):
    return succeeds_here(
      *("bert_span.run_pretraining", *_TRAINING, f"--output_dir={output_dir}"),
      f"--bert_config_file={data}bert_config.json",
      f"--vocab_file={data}vocab.txt",
      f"--input_file={data}[01].txt",
    ).stderr

  run("", "run")
  (tmp_path / "run/model/notes.txt").write_text("two years")
  (tmp_path / "run/tf1/notes.txt").write_text("two years")
  (tmp_path / "run/checkpoint").unlink()
  (tmp_path / "elsewhere").mkdir()
  (tmp_path / "run").rename("elsewhere/moved")
  monkeypatch.chdir("elsewhere")
  for data in ("../", f"{tmp_path}/"):
    assert "nothing to train" in run(data, "moved")
  for name in ("model", "tf1"):
    path = tmp_path / "elsewhere/moved" / name / "notes.txt"
    assert path.read_text() == "two years"
  folder = tmp_path / "elsewhere/moved"
  # Event files have names of their own.
  assert undeclared_files("run_pretraining", folder) == {"train/"}


@pytest.mark.large
def test_the_model_continues_on_records(trained, folder):
  text = folder / "0.txt"
  result = succeeds(
    *("bert_span.create_pretraining_data", *_LENGTHS, f"--input_file={text}"),
    *(f"--vocab_file={folder}/vocab.txt", "--dupe_factor=2"),
    f"--output_file={folder}/a.tfrecord,{folder}/b.tfrecord.gz",
  )
  assert "max_predictions=3" in result.stderr
  output_dir = folder / "records_run"
  result = succeeds(
    *("bert_span.run_pretraining", *_TRAINING),
    *(f"--preset={trained[0] / 'model'}", f"--output_dir={output_dir}"),
    *(f"--input_file={folder}/*.tfrecord*", "--do_eval", f"--eval_file={text}"),
    *("--nosbo", "--nodo_export", "--precision=bfloat16"),
    *("--num_devices=2", "--accumulate_steps=2"),
  )
  assert "Heads taken from it: masked language model." in result.stderr
  assert "Training on 2 CPUs, " in result.stderr
  assert not (output_dir / "tf1").exists()
  assert read(output_dir / "eval_results.json")["num_mlm_targets"] > 0


@pytest.mark.large
@pytest.mark.parametrize("name", ["model", "huggingface"])
def test_run_squad_takes_the_model(trained, folder, name):
  question = {"id": "1", "question": "ap", "answers": spans(("am", 6))}
  data = squad_content("ak al am an ao.", question, version="1.1")
  (folder / "squad.json").write_text(json.dumps(data))
  succeeds_here(
    *("bert_span.run_squad", f"--preset={trained[0] / name}"),
    *("--do_train", f"--train_file={folder / 'squad.json'}"),
    *("--max_seq_length=16", "--max_query_length=4", "--doc_stride=4"),
    *("--train_batch_size=1", "--num_train_epochs=1"),
    f"--output_dir={folder / name}",
  )
  assert (folder / name / "model").is_dir()


def test_only_bert_is_pre_trained(folder, tmp_path):
  extractor_of("electra").save_to_preset(tmp_path / "model")
  flags = (f"--preset={tmp_path / 'model'}", f"--input_file={folder}/0.txt")
  output_dir = f"--output_dir={tmp_path / 'out'}"
  message = refusal("bert_span.run_pretraining", *_TRAINING, *flags, output_dir)
  assert f"{tmp_path / 'model'} is electra" in message
  assert not (tmp_path / "out").exists()


@pytest.mark.large
def test_inspect_masking_writes_json_lines_or_prints(folder):
  output = folder / "masked.jsonl"
  command = ("bert_span.inspect_masking", *_LENGTHS)
  command += (f"--vocab_file={folder}/vocab.txt",)
  files = (f"--input_file={folder}/0.txt", f"--output_file={output}")
  result = succeeds(*command, *files)
  assert result.stdout == ""
  rows = [json.loads(line) for line in output.read_text().splitlines()]
  assert len(rows) > 5
  for row in rows:
    both = zip(row["input_ids"], row["masked_input_ids"], strict=True)
    masked = {i for i, (token, shown) in enumerate(both) if token != shown}
    ranges = (span["span"] for span in row["spans"])
    assert masked <= {i for a, b in ranges for i in range(a, b + 1)}
  shown = succeeds_here(*command, files[0], "--max_sequences=2").stdout
  assert shown.startswith("Sequence 0: ") and shown.count("[CLS]") == 2


@pytest.mark.large
def test_a_dry_run_says_what_would_run_and_writes_nothing(flags, tmp_path):
  output_dir = tmp_path / "dry"
  run = succeeds_here(
    *("bert_span.run_pretraining", *flags, f"--output_dir={output_dir}"),
    "--dry_run",
  )
  assert not output_dir.exists()
  lines = run.stdout.splitlines()
  assert lines[0] == "Dry run: nothing is trained, nothing is written."
  assert lines[1].startswith("Steps: 6 of 4 windows, 2 of them warm-up")
  assert "at the peak of a step of 4 windows of 16 WordPieces" in lines[2]
  assert lines[-1].startswith("Then up to 100 batches of 8 sequences")
