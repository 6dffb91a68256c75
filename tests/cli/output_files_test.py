"""No file is both input and output, whatever leads to it."""

import os
import re

import pytest

from tests.support.programs import succeeds_here, undeclared_files
from tests.support.squad import squad_flags

_INPUT = "{}"
_TRAIN = "run_squad --do_train --output_dir=."
_PRETRAIN = "run_pretraining --do_train --output_dir=."
_ASK = "run_squad --do_predict --output_dir=."
_ENCODER = "--bert_config_file=c --vocab_file=v"
_DECODE = "decode --vocab_file=v --output_dir=."
_CREATE = "create_pretraining_data --vocab_file=v --input_file=X"
_RECORDS = "beam_create_records pretraining --vocab_file=v --output_dir=."
_EVALUATE = "evaluate --predictions_file=q"
_REPORT = "report --nbest_file=n"
_TFLITE = "export_tflite --model=m --output=m.tflite"
_SCORE = "run_squad --do_eval --output_dir=."


@pytest.mark.parametrize(
  ("command", "names"),
  [
    (f"{_TRAIN} --train_file=X", "run.flags training_options.json run.lock"),
    (f"{_TRAIN} --train_file=X", "checkpoint evaluations.json"),
    (f"{_TRAIN} --vocab_file=X", "model/assets/tokenizer/vocabulary.txt"),
    (f"{_TRAIN} --teacher=x,X --preset=y", "soft_labels.safetensors model"),
    (
      f"{_TRAIN} {_ENCODER} --init_checkpoint=X",
      "model.ckpt-7 model.ckpt-7.index",
    ),
    (f"{_ASK} --predict_file=X", "logits.npz"),
    (
      f"{_SCORE} --predict_file=X",
      "eval_results.json",
    ),
    (f"{_PRETRAIN} --input_file=X", "data_places.jsonl run.flags"),
    (f"{_PRETRAIN} --input_file=[dr]*", "data_places.jsonl"),
    (f"{_PRETRAIN} {_ENCODER} --init_checkpoint=X", "tf1/bert_model.ckpt"),
    (f"{_PRETRAIN} --preset=X", "huggingface"),
    (f"{_DECODE} --predict_file=X --logits_file=a", "predictions.json"),
    (f"{_DECODE} --predict_file=a --logits_file=a,X", "null_odds.json"),
    (f"{_EVALUATE} --predict_file=X --output_file=X", "squad.json"),
    # Even by default.
    (f"{_REPORT} --predict_file=X", "report.html"),
    ("lint_squad X --fix --output_file=X", "squad.json"),
    ("lint_squad a.json --fix --vocab_file=X", "a.fixed.json.changes.jsonl"),
    ("convert --model=X --output_dir=X", "model"),
    ("calibrate --model=x --predict_file=X --output_dir=.", "calibration.json"),
    (
      "calibrate --model=m --predict_file=X",
      "m/calibration/calibration.json m/calibration/risk_coverage.png",
    ),
    (
      f"{_CREATE} --output_file=a,X",
      "b.tfrecord",
    ),
    (
      f"{_CREATE} --output_file=a.tfrecord",
      "a.tfrecord.json",
    ),
    ("beam_predict --model=m --input=X --output_dir=.", "job.json"),
    (
      "beam_predict --model=m --input=*-00002.jsonl --output_dir=.",
      "dead_letters-00000-of-00002.jsonl",
    ),
    (
      f"{_RECORDS} --input_file=X",
      "masked-00000-of-00002.tfrecord",
    ),
    (f"{_TFLITE} --evaluate_file=X", "m.tflite.json"),
    (f"{_TFLITE} --evaluate_file=X --test_vectors=X", "dev.json"),
  ],
)
@pytest.mark.parametrize("lead", ["path", "symlink", "hardlink", "scheme"])
def test_an_input_is_no_output(
  monkeypatch, tmp_path, run_main, main_of, command, names, lead
):
  name, *words = command.split()
  package = "export" if name.startswith("export") else "bert_span"
  monkeypatch.chdir(tmp_path)
  for path in map(tmp_path.joinpath, names.split()):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_INPUT)
    given = os.path.relpath(path)
    if lead == "scheme":
      given = path.as_uri()
    elif lead != "path" and path.parent == tmp_path and "." in path.name:
      given = f"elsewhere-{path.name}"
      (os.symlink if lead == "symlink" else os.link)(path, given)
    written = "--output", "--test_vectors"
    inputs = [
      w.replace("X", path.name if w.startswith(written) else given)
      for w in words
    ]
    main = main_of(f"{package}.{name}")
    status, line = run_main(main, *inputs, arguments=True, foreign_flags=True)
    assert status == 1
    assert re.search("output|test_vectors", line), line
    assert "is also the input" in line and path.name in line, line
    assert path.read_text() == _INPUT


@pytest.mark.parametrize(
  ("command", "name"),
  [
    # Only a training writes them.
    (f"{_ASK} --preset=X", "model"),
    (
      f"{_ASK} {_ENCODER} --init_checkpoint=X",
      "model.ckpt-7",
    ),
    (f"{_DECODE} --predict_file=a --logits_file=X", "logits.npz"),
    ("beam_predict --model=X --input=i --output_dir=.", "model"),
    (
      f"{_EVALUATE} --predict_file=p --na_prob_file=X --output_file=x",
      "null_odds.json",
    ),
    # A version is written into it.
    ("export_saved_model --model=X --output=X", "model/"),
    (f"{_TRAIN} --train_file=X", "train.json"),
    (f"{_TRAIN} --train_file=X", "old/run.flags"),
    (
      "report --nbest_file=n --predict_file=X --question_id=\0\ud800",
      "squad.json",
    ),
  ],
)
def test_an_input_beside_outputs_is_none(
  monkeypatch, tmp_path, run_main, main_of, command, name
):
  monkeypatch.chdir(tmp_path)
  (tmp_path / name).parent.mkdir(exist_ok=True)
  (tmp_path / name).mkdir() if "/" in name[-1] else (tmp_path / name).touch()
  program, *words = command.replace("X", name).split()
  package = "export" if program.startswith("export") else "bert_span"
  main = main_of(f"{package}.{program}")
  _, line = run_main(main, *words, foreign_flags=True)
  assert "also the input" not in line


@pytest.mark.large
def test_every_file_of_a_run_is_declared(squad_folder, tmp_path):
  flags = ("--do_train", "--do_predict", "--do_eval", "--write_logits")
  flags += ("--num_train_epochs=1", "--eval_steps=1")
  flags = squad_flags(squad_folder, tmp_path, *flags, version_2=True)
  succeeds_here("bert_span.run_squad", *flags)
  # Event files have new names.
  assert undeclared_files("run_squad", tmp_path) == {"train/", "eval/"}
