"""Options that name files: an output is no input, of any program."""

import dataclasses
import os
import sys

import pytest
from absl import flags

from bert_span.cli.flags import read_flags
from bert_span.options.fields import option
from bert_span.storage.options import FileOptions
from tests.support.programs import define_flags


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Options(FileOptions):
  source: str | None = option(None, "A file.", is_input=True)
  others: tuple[str, ...] = option((), "Files.", is_input=True)
  report: str | None = option(
    None, "A file.", is_output=True, writes=(".json",)
  )
  folder: str | None = option(
    None,
    "A folder.",
    is_output=True,
    writes={None: (r"a-\d+\.txt", "model/"), "trains": ("log",)},
  )
  trains: bool = option(False, "A switch.")


@pytest.mark.parametrize(
  ("options", "named"),
  [
    ({"source": "x", "report": "x"}, "report=x .*source=x"),
    ({"source": "x.json", "report": "x"}, "report=x.json .*source=x.json"),
    ({"others": ("y", "x"), "report": "./x"}, "report=./x .*others=x"),
    ({"source": "link", "report": "x"}, "report=x .*source=link"),
    ({"source": "hard", "report": "x"}, "report=x .*source=hard"),
    ({"source": "file://{}/x", "report": "x"}, "report=x .*source=file://"),
    ({"source": "y,a-*", "folder": "."}, "a-1.txt of folder .*a-1.txt"),
    ({"source": "model/b", "folder": "."}, "model/ of folder .*model/b"),
    ({"source": "log", "folder": ".", "trains": True}, "log of folder .*log"),
  ],
)
def test_an_output_that_is_an_input_is_refused(
  tmp_path, monkeypatch, options, named
):
  monkeypatch.chdir(tmp_path)
  for name in ("x", "y", "a-1.txt", "log"):
    (tmp_path / name).touch()
  (tmp_path / "model").mkdir()
  os.symlink("x", "link")
  os.link("x", "hard")
  if "{}" in options.get("source", ""):
    options = options | {"source": options["source"].format(tmp_path)}
  with pytest.raises(ValueError, match=named):
    _Options(**options)


def test_other_files_are_allowed_and_paths_are_texts(tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  (tmp_path / "log").touch()
  _Options(source="log", folder=".")  # Only with `trains` is it written.
  options = _Options(source=tmp_path / "x", others=[tmp_path / "y"], report="z")
  assert options.source == f"{tmp_path}/x"
  assert options.others == (f"{tmp_path}/y",)
  assert [*options.named_files()] == [
    ("`source`", f"{tmp_path}/x"),
    ("`others`", f"{tmp_path}/y"),
    ("`report`", "z"),
  ]


# --- What programs declare.

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


def _options(command):
  """The options that a program makes of its command line."""
  program, *words = command.split()
  package = "export" if program.startswith("export") else "bert_span"
  name = f"{package}.{program}"
  define_flags(name)
  _, *others = flags.FLAGS([name, *words], known_only=True)
  return read_flags(sys.modules[name].run.options_type, others)


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
def test_an_input_of_a_program_is_none_of_its_outputs(
  monkeypatch, tmp_path, command, names
):
  monkeypatch.chdir(tmp_path)
  for name in names.split():
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}")
    given = command.replace("X", name)
    with pytest.raises(ValueError, match=r"(output|test_vectors).* also") as e:
      _options(given)
    assert path.name in str(e.value)


@pytest.mark.parametrize(
  ("command", "name"),
  [
    # Only a training writes them.
    (f"{_ASK} --predict_file=q --preset=X", "model"),
    (
      f"{_ASK} --predict_file=q {_ENCODER} --init_checkpoint=X",
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
    (f"{_TRAIN} --train_file=X --preset=q", "train.json"),
    (f"{_TRAIN} --train_file=X --preset=q", "old/run.flags"),
    (
      f"{_REPORT} --predict_file=X --model=m --question_id=\0\ud800",
      "squad.json",
    ),
  ],
)
def test_an_input_beside_the_outputs_of_a_program_is_accepted(
  monkeypatch, tmp_path, command, name
):
  monkeypatch.chdir(tmp_path)
  (tmp_path / name).parent.mkdir(exist_ok=True)
  (tmp_path / name).mkdir() if "/" in name[-1] else (tmp_path / name).touch()
  _options(command.replace("X", name))
