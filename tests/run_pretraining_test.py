"""The programs of pre-training as users run them."""

import json

import numpy as np
import pytest
from corpus import VOCABULARY, write_corpus
from programs import error_line, refusal, run_program, succeeds
from squad_content import spans, squad_content
from tiny_extractor import extractor_of

from bert_span.presets.load_pretrained import load_original, load_pretrained
from bert_span.pretraining.model_files import read_heads

_SIZES = {
  "hidden_size": 16,
  "num_hidden_layers": 1,
  "num_attention_heads": 2,
  "intermediate_size": 32,
  "max_position_embeddings": 16,
  "type_vocab_size": 2,
  "vocab_size": len(VOCABULARY),
}
_LENGTHS = ("--max_seq_length=16", "--seed=3")
_TRAINING = (
  *_LENGTHS,
  "--do_train",
  "--train_batch_size=4",
  "--num_train_steps=6",
  "--num_warmup_steps=2",
  "--save_checkpoints_steps=3",
)


def assert_same_encoder(ours, theirs):
  for weight, other in zip(
    ours.backbone.weights, theirs.backbone.weights, strict=True
  ):
    np.testing.assert_array_equal(weight.numpy(), other.numpy())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
  folder = tmp_path_factory.mktemp("pretraining")
  write_corpus(folder)
  (folder / "vocab.txt").write_text("".join(f"{t}\n" for t in VOCABULARY))
  (folder / "bert_config.json").write_text(json.dumps(_SIZES))
  return folder


@pytest.fixture(scope="module")
def from_scratch(folder):
  return (
    f"--bert_config_file={folder / 'bert_config.json'}",
    f"--vocab_file={folder / 'vocab.txt'}",
  )


@pytest.fixture(scope="module")
def trained(folder, from_scratch):
  """A finished run with evaluation: its folder and what it printed."""
  output_dir = folder / "run"
  result = succeeds(
    "bert_span.run_pretraining",
    *_TRAINING,
    *from_scratch,
    f"--input_file={folder}/[01].txt",
    "--do_eval",
    f"--eval_file={folder}/2.txt",
    f"--output_dir={output_dir}",
  )
  return output_dir, result


@pytest.mark.large
def test_training_writes_model_exports_scores_and_curves(trained):
  output_dir, result = trained
  names = {path.name for path in output_dir.iterdir()}
  assert {
    *("model", "tf1", "huggingface", "train", "eval", "eval_results.json"),
    *("run.flags", "model.ckpt-6.index", "data_places.jsonl"),
  } <= names
  scores = json.loads((output_dir / "eval_results.json").read_text())
  assert json.loads(result.stdout.splitlines()[-1]) == scores
  assert {"mlm_loss", "mlm_accuracy", "sbo_loss", "sbo_accuracy"} <= set(scores)
  assert "WordPieces/s" in result.stderr
  # One encoder in three formats.
  model = load_pretrained(str(output_dir / "model"))
  tf1 = load_original(
    str(output_dir / "tf1" / "bert_config.json"),
    str(output_dir / "tf1" / "bert_model.ckpt"),
  )
  huggingface = load_pretrained(str(output_dir / "huggingface"))
  for loaded in (tf1, huggingface):
    assert_same_encoder(model, loaded)
  assert model.lower_case is True and huggingface.lower_case is True
  vocabularies = {
    path.read_text()
    for path in (
      output_dir / "tf1" / "vocab.txt",
      output_dir / "huggingface" / "vocab.txt",
      output_dir / "model" / "assets" / "tokenizer" / "vocabulary.txt",
    )
  }
  assert len(vocabularies) == 1
  assert read_heads(str(output_dir / "model"))


@pytest.mark.large
def test_a_finished_run_is_evaluated_by_its_model(trained, folder):
  output_dir, first = trained
  result = succeeds(
    "bert_span.run_pretraining",
    *_LENGTHS,
    "--do_eval",
    f"--input_file={folder}/2.txt",
    f"--output_dir={output_dir}",
  )
  again = json.loads(result.stdout.splitlines()[-1])
  scores = json.loads(first.stdout.splitlines()[-1])
  for name in ("mlm_loss", "sbo_loss", "mlm_accuracy"):
    assert again[name] == pytest.approx(scores[name], rel=1e-5)
  assert "masked language model, span boundary" in result.stderr


@pytest.mark.large
def test_the_model_continues_with_its_heads_on_records(trained, folder):
  output_dir, _ = trained
  result = succeeds(
    "bert_span.create_pretraining_data",
    *_LENGTHS,
    f"--input_file={folder}/*.txt",
    f"--vocab_file={folder / 'vocab.txt'}",
    "--dupe_factor=2",
    f"--output_file={folder}/a.tfrecord,{folder}/b.tfrecord.gz",
  )
  assert "--max_predictions=3" in result.stderr
  result = succeeds(
    "bert_span.run_pretraining",
    *_TRAINING,
    f"--preset={output_dir / 'model'}",
    f"--input_file={folder}/*.tfrecord*",
    "--nosbo",
    "--nodo_export",
    *("--num_devices=2", "--accumulate_steps=2", "--precision=bfloat16"),
    f"--output_dir={folder / 'records_run'}",
  )
  assert "heads of it: masked language model." in result.stderr
  assert "Training on 2 CPUs (mirrored)" in result.stderr
  assert not (folder / "records_run" / "tf1").exists()


@pytest.mark.large
@pytest.mark.parametrize("prefix", ["", "file://"])
def test_the_best_model_by_held_out_text_is_written_scored_and_exported(
  folder, from_scratch, prefix
):
  """file:// is one of TensorFlow's file systems only, as gs:// is."""
  output_dir = folder / f"selected_run{len(prefix)}"
  flags = (
    *_TRAINING,
    *from_scratch,
    f"--input_file={folder}/[01].txt",
    # So high that the model gets worse.
    *("--learning_rate=0.5", "--eval_steps=2", "--best_metric=mlm_loss"),
    *("--do_eval", f"--eval_file={folder}/2.txt"),
    f"--output_dir={prefix}{output_dir}",
  )
  result = succeeds("bert_span.run_pretraining", *flags)
  rows = json.loads((output_dir / "evaluations.json").read_text())
  losses = {
    row["step"]: row["scores"]["mlm_loss"] for row in rows["evaluations"]
  }
  assert list(losses) == [2, 4, 6]
  best = min(losses, key=losses.get)
  assert best != 6 and rows["best_step"] == best
  selection = json.loads((output_dir / "model/selection.json").read_text())
  assert selection["step"] == best
  assert f"the best by mlm_loss: step {best}" in result.stderr
  # Of the job after training: encoder and heads are the best ones.
  scores = json.loads((output_dir / "eval_results.json").read_text())
  assert scores["mlm_loss"] == pytest.approx(losses[best], rel=1e-5)
  assert_same_encoder(
    load_pretrained(f"{prefix}{output_dir}/model"),
    load_pretrained(f"{prefix}{output_dir}/huggingface"),
  )
  again = succeeds(
    "bert_span.run_pretraining", *flags
  )  # Nothing is left to train.
  for name in ("mlm_loss", "sbo_loss"):
    again_scores = json.loads(again.stdout.splitlines()[-1])
    assert again_scores[name] == pytest.approx(scores[name], rel=1e-5)
  # What an interrupted write has left is an error.
  (output_dir / "model" / "selection.json").unlink()
  result = run_program("bert_span.run_pretraining", *flags)
  assert "best model so far is gone" in error_line(result)


@pytest.mark.large
def test_run_squad_takes_the_model(trained, folder):
  question = {"id": "1", "question": "ap", "answers": spans(("am", 6))}
  data = squad_content("ak al am an ao.", question, version="1.1")
  (folder / "squad.json").write_text(json.dumps(data))
  succeeds(
    *("bert_span.run_squad", f"--preset={trained[0] / 'model'}"),
    *("--do_train", f"--train_file={folder / 'squad.json'}"),
    *("--max_seq_length=16", "--max_query_length=4", "--doc_stride=4"),
    *("--train_batch_size=1", "--num_train_epochs=1"),
    f"--output_dir={folder / 'fine_tuned'}",
  )


def test_only_bert_is_pre_trained(folder, tmp_path):
  extractor_of("electra").save_to_preset(tmp_path / "model")
  flags = (f"--preset={tmp_path / 'model'}", f"--input_file={folder}/0.txt")
  output_dir = f"--output_dir={tmp_path / 'out'}"
  message = refusal("bert_span.run_pretraining", *_TRAINING, *flags, output_dir)
  assert f"{tmp_path / 'model'} is electra" in message
  assert not (tmp_path / "out").exists()


@pytest.mark.large
def test_inspect_masking_writes_json_lines(folder):
  output = folder / "masked.jsonl"
  result = succeeds(
    "bert_span.inspect_masking",
    *_LENGTHS,
    f"--input_file={folder}/0.txt",
    f"--vocab_file={folder / 'vocab.txt'}",
    f"--output_file={output}",
  )
  assert result.stdout == ""
  rows = [json.loads(line) for line in output.read_text().splitlines()]
  assert len(rows) > 5
  for row in rows:
    ids, masked = row["input_ids"], row["masked_input_ids"]
    for span in row["spans"]:
      start, end = span["span"]
      left, right = start - 1 or None, end + 1
      assert span["left_boundary"] == left
      assert span["right_boundary"] == (right if right < len(ids) - 1 else None)
      ids[start:right] = masked[start:right] = [None] * (right - start)
    assert ids == masked
    assert ids.count(None) == -(-15 * (len(ids) - 2) // 100)


@pytest.mark.large
def test_a_dry_run_says_what_would_run_and_writes_nothing(folder, from_scratch):
  output_dir = folder / "dry"
  result = succeeds(
    "bert_span.run_pretraining",
    *_TRAINING,
    *from_scratch,
    f"--input_file={folder}/[01].txt",
    "--do_eval",
    f"--eval_file={folder}/2.txt",
    f"--output_dir={output_dir}",
    *("--dry_run", "--memory_gb=4"),
  )
  assert not output_dir.exists()
  (first, devices, model, text, lengths, steps, memory, *_, fits, last) = (
    result.stdout.splitlines()
  )
  assert first == "Dry run: nothing is trained, nothing is written."
  assert devices.endswith("4.00 GB each.")
  assert "1 layers, hidden size 16, 2 heads" in model
  assert text.startswith("Text: 2 sources; sequences of 16 WordPieces")
  assert lengths.endswith("(the first 40 sequences)")
  assert steps.startswith("Steps: 6 of 4 windows, 2 of them warm-up")
  assert "4 windows of 16 WordPieces in float32" in memory
  assert fits.startswith("It fits")
  assert last.startswith("Then up to 100 batches of 8 sequences")


def test_text_without_a_word_is_refused_and_nothing_written(folder, tmp_path):
  (tmp_path / "empty.txt").write_text("\n")
  message = refusal(
    "bert_span.create_pretraining_data",
    f"--input_file={tmp_path}/empty.txt",
    f"--vocab_file={folder / 'vocab.txt'}",
    f"--output_file={tmp_path / 'o.tfrecord'}",
  )
  assert "empty.txt" in message
  assert sorted(tmp_path.iterdir()) == [tmp_path / "empty.txt"]


def test_recurring_spans_are_trained_beside_masks(folder, from_scratch):
  vocabulary, output_dir = [*VOCABULARY[:-1], "[unused1]"], folder / "both"
  (folder / "with_question.txt").write_text("\n".join(vocabulary))
  flags = (
    from_scratch[0],
    f"--vocab_file={folder / 'with_question.txt'}",
    "--objective=both",
    *_LENGTHS,
  )
  (folder / "recurring.txt").write_text("ak al bk ak al cm\n" * 30)
  text = f"--input_file={folder / 'recurring.txt'}"
  records = folder / "both.tfrecord"
  succeeds(
    "bert_span.create_pretraining_data",
    *flags[1:],
    text,
    f"--output_file={records}",
  )
  training = (
    *(f"--input_file={records}", f"--eval_file={folder / 'recurring.txt'}"),
    *("--do_eval", f"--output_dir={output_dir}"),
  )
  succeeds("bert_span.run_pretraining", *flags, *_TRAINING, *training)
  scores = json.loads((output_dir / "eval_results.json").read_text())
  assert scores["num_rss_targets"] > 0 and scores["num_mlm_targets"] > 0
  heads = read_heads(output_dir / "model")
  assert heads["cls/recurring_spans/start_kernel"].shape == (16, 16)
  shown = succeeds(
    *("bert_span.inspect_masking", *flags[1:], text, "--max_sequences=2")
  ).stdout
  assert shown.startswith("Sequence 0: ") and shown.count("[CLS]") == 2
  assert "[QUESTION], answered at" in shown
