"""Flags that do not fit: a program names the flag, and writes nothing.

What programs print of it is tested in cli/program_test.py.
"""

import importlib
import shlex

import pytest
import tensorflow as tf

from bert_span.cli.flags import with_flags
from bert_span.options.fields import WORD, flag_name, option_fields
from tests.support.programs import refusal

_SQUAD = (
  "run_squad --bert_config_file=c --vocab_file=v --train_file=t --output_dir=o "
  "--predict_file=p --max_seq_length=32 --max_query_length=12 "
  "--train_batch_size=4"
)
_PRETRAIN = "run_pretraining --do_train --output_dir=o"
_START = f"{_PRETRAIN} --input_file=i --preset=p"
_TFLITE = "export.export_tflite --model=m --output=a.tflite"
_REFUSED = {
  _SQUAD: [
    ("", "--do_predict or --do_eval"),
    ("--do_train --train_file=", "--train_file or --dataset"),
    ("--do_predict --predict_file=", "--predict_file or --dataset"),
    ("--do_train --preset=x", "--preset"),
    ("--do_train --vocab_file=", "--vocab_file"),
    ("--do_train --dataset=squad/v1.1", "--dataset"),
    ("--do_train --use_tpu --precision=float16", "bfloat16"),
    ("--do_train --use_tpu --length_buckets=32", "--length_buckets=32"),
    ("--do_train --distribution=one_device --num_devices=2", "mirrored"),
    ("--do_train --accumulate_steps=5", "--accumulate_steps=5"),
    ("--do_train --max_seq_length=15", "max_query_length (12)"),
    (f"--do_train --length_buckets={10**21}", "--length_buckets"),
    ("--do_train --learning_rate=0", "--learning_rate"),
    ("--do_train --output_dir=", "--output_dir"),
    ("--do_train --bio_class_weights=1,2", "bio_class_weights"),
    ("--eval_steps=5 --do_predict", "--eval_steps needs --do_train"),
    ("--do_train --eval_steps=5 --predict_file=", "--eval_steps needs"),
    ("--do_train --eval_steps=5 --best_metric=overlap_f1", "overlap_f1"),
    ("--do_train --early_stopping_patience=2", "--eval_steps"),
  ],
  "run_pretraining": [
    ("--output_dir=o", "--do_train or --do_eval"),
    ("--do_train", "--output_dir"),
  ],
  _PRETRAIN: [
    ("", "--input_file or --dataset"),
    ("--input_file=i", "--preset"),
  ],
  _START: [
    ("--do_eval", "--eval_file"),
    ("--eval_steps=5", "--eval_file"),
    ("--max_predictions=1000000000", "--max_predictions=1000000000"),
  ],
  f"{_START} --eval_steps=5 --eval_file=e": [
    ("--early_stopping_patience=2", "--eval_steps and --best_metric"),
    ("--nosbo --best_metric=sbo_loss", "--nosbo"),
  ],
  "inspect_masking": [("--input_file=i", "--vocab_file")],
  "create_pretraining_data --input_file=i": [
    ("", "--output_file"),
    ("--vocab_file=v --output_file=o.txt", "o.txt"),
  ],
  "inspect_windows --input_file=i": [("", "--vocab_file")],
  "inspect_windows --input_file=i --vocab_file=v": [
    ("--output_file=", "--output_file")
  ],
  "inspect_windows --vocab_file=v": [
    ("--input_file=none://a.json", "none://a.json"),
    ("--input_file=ram://a.json", "'ram://a.json'"),
  ],
  "lint_squad": [
    ("", "`file`"),
    ("a.json b.json", "b.json"),
    ("none.json", "'none.json'"),
    ("ram://none.json", "'ram://none.json'"),
    ("a.json --preset=p --do_lower_case", "--do_lower_case"),
    ("a.json --output_file=b.json", "--fix"),
  ],
  "decode --predict_file=p --output_dir=o --logits_file=l": [
    ("--output_dir=", "--output_dir"),
    ("--model=m --vocab_file=v", "--model or --vocab_file"),
    ("--model=m --do_lower_case=false", "--model or --nodo_lower_case"),
    ("--model=m --do_lower_case", "--model or --do_lower_case"),
    ("--model=/none", "--model=/none"),
  ],
  "decode --predict_file=p --output_dir=o --logits_file=,": [
    ("--model=m", "--logits_file")
  ],
  "evaluate --predict_file=p --predictions_file=q --multi_span": [
    ("--na_prob_file=n", "--na_prob_file or --multi_span"),
    ("--characters", "--characters or --multi_span"),
  ],
  "evaluate --predict_file=p": [
    ("", "--predictions_file"),
    ("--predictions_file=q --na_prob_thresh=nan", "--na_prob_thresh"),
    ("--predictions_file=none://a.json", "none://a.json"),
    ("--predictions_file=ram://a.json", "'ram://a.json'"),
  ],
  "report --predict_file=a": [("", "--nbest_file")],
  "report --predict_file=a --nbest_file=b": [
    ("--question_id=c", "--model"),
    ("--doc_stride=64", "--doc_stride needs --model"),
    ("--noverify", "--noverify needs --model"),
    ("--output_file=", "--output_file"),
  ],
  "serve": [
    ("", "--model or --web"),
    ("--model=m --web --tflite=t", "--model or --web"),
    ("--web", "--web needs --tflite"),
    ("--model=m --tflite=t", "--tflite needs --web"),
    ("--model=m --litert=l", "--litert needs --web"),
    ("--model=m --host=", "--host"),
    ("--model=minilm_squad --bio_threshold=0.5", "--bio_threshold"),
  ],
  "calibrate --predict_file=p": [("", "--model")],
  "tests.conformance.__main__": [("--data=somewhere", "--goldens")],
  "convert": [("--model=m", "--output_dir")],
  "beam_create_records": [
    ("squad --vocab_file=v --output_dir=o", "'squad'"),
    ("pretraining --output_dir=x --vocab_file=v", "--input_file"),
  ],
  "beam_predict --model=minilm_squad --input=i --output_dir=o": [
    ("--question=' '", "--question"),
    ("--n_best=30", "--n_best_size"),
  ],
  "export.export_saved_model --output=base": [("", "--model")],
  "export.export_saved_model --model=minilm_squad --output=base": [
    ("--version=0", "--version"),
    ("--nowarmup --head=bio", "--head=bio"),
    ("--proof=long", "--proof"),
  ],
  _TFLITE: [
    ("--output=", "--output"),
    ("--output=a.bin", "a.bin"),
    ("--output=gs://a.tflite", "gs://"),
    ("--max_f1_drop=1", "--evaluate_file"),
    ("--proof=long", "--proof"),
  ],
}

_OUT_OF_BOUNDS = {
  "run_squad": "train_batch_size=0 n_best_size=0 n_best_size=2147483648 "
  "bio_threshold=1.5 max_answer_length=1000000000000 temperature=0 "
  "null_score_diff_threshold=nan null_score_diff_threshold=-inf span_score=x "
  "num_train_epochs=inf warmup_proportion=nan "
  "num_devices=1000000 predict_batch_size=1000000000000",
  "run_pretraining": "max_seq_length=1000000000",
  "calibrate": "target_precision=nan target_answered=1.5",
  "beam_predict": "num_shards=1000000000",
  "export.export_saved_model": "max_windows_per_step=0 "
  "max_windows_per_step=10000000000",
}


@pytest.mark.parametrize(
  ("command", "named"),
  [
    *(
      (f"{start} {flags}", named)
      for start, cases in _REFUSED.items()
      for flags, named in cases
    ),
    *(
      (f"{start} --{flag}", flag.partition("=")[0])
      for start, flags in _OUT_OF_BOUNDS.items()
      for flag in flags.split()
    ),
  ],
)
def test_flags_that_do_not_fit_are_refused(
  monkeypatch, tmp_path, command, named
):
  monkeypatch.chdir(tmp_path)
  name, *arguments = shlex.split(command)
  name = name if "." in name else f"bert_span.{name}"
  assert named in refusal(name, *arguments)
  assert not list(tmp_path.iterdir())


# By program: options, those that do not fit them, and those that the job
# refuses.
_REFUSED_IN_PYTHON = {
  "bert_span.ask": (
    {"context": "C"},
    {"model": "m", "context_file": "f"},
    {"model": "none", "question": ("Q",)},
  ),
  "bert_span.beam_create_records": (
    {"records": "pretraining", "output_dir": "o"},
    {"vocab_file": "v"},
    {"vocab_file": "none", "input_file": "i"},
  ),
  "bert_span.beam_predict": (
    {"input": "i", "output_dir": "o"},
    {"model": "m", "input": "o/job.json"},
    {"model": "none"},
  ),
  "bert_span.calibrate": (
    {"predict_file": "p", "plots": False},
    {"model": "m", "target_precision": 0.5, "target_answered": 0.5},
    {"model": "none"},
  ),
  "bert_span.convert": (
    {"model": "none"},
    {"output_dir": "none"},
    {"output_dir": "o"},
  ),
  "bert_span.create_pretraining_data": (
    {"input_file": "i"},
    {"vocab_file": "v", "output_file": ("a.tfrecord", "b.txt")},
    {"vocab_file": "none", "output_file": ("a.tfrecord", "b.tfrecord")},
  ),
  "bert_span.decode": (
    {"predict_file": "p", "logits_file": ("a", "b"), "output_dir": "o"},
    {"model": "m", "do_lower_case": False},
    {"model": "none"},
  ),
  "bert_span.evaluate": (
    {"predict_file": "p", "predictions_file": "none"},
    {"multi_span": True, "characters": True},
    {},
  ),
  "bert_span.inspect_masking": (
    {"vocab_file": "none"},
    {},
    {"input_file": "i"},
  ),
  "bert_span.inspect_windows": (
    {"input_file": "none", "vocab_file": "v"},
    {"output_file": ""},
    {},
  ),
  "bert_span.lint_squad": ({"file": "none"}, {"output_file": "o"}, {}),
  "bert_span.report": (
    {"predict_file": "none", "nbest_file": "n"},
    {"verify": False},
    {},
  ),
  "bert_span.run_pretraining": (
    {"do_train": True, "output_dir": "o"},
    {"preset": "p"},
    {"preset": "p", "input_file": "none"},
  ),
  "bert_span.run_squad": (
    {"do_train": True, "output_dir": "o"},
    {"preset": "p"},
    {"preset": "p", "train_file": "none"},
  ),
  "bert_span.serve": ({}, {"model": "m", "tflite": "t"}, {"model": "none"}),
  "export.export_saved_model": (
    {"model": "none"},
    {"output": ""},
    {"output": "base"},
  ),
  "export.export_tflite": (
    {"model": "none"},
    {"output": "a.bin"},
    {"output": "a.tflite"},
  ),
}


def _flags(options_type, options):
  """The command line that gives options."""
  fields = {field.name: field for field in option_fields(options_type)}
  for name, value in options.items():
    rules, flag = fields[name].metadata, flag_name(fields[name])
    if rules["flag"] == WORD:
      yield value
    elif isinstance(value, bool):
      yield f"--{'' if value else 'no'}{flag}"
    elif rules["repeated"]:
      yield from (f"--{flag}={part}" for part in value)
    else:
      parts = value if isinstance(value, tuple) else [value]
      yield f"--{flag}={','.join(map(str, parts))}"


@pytest.mark.parametrize("program", _REFUSED_IN_PYTHON)
@pytest.mark.parametrize("by_job", [False, True])
def test_what_a_program_refuses_is_refused_in_python(
  monkeypatch, tmp_path, program, by_job
):
  monkeypatch.chdir(tmp_path)
  name = program.partition(".")[2]
  options_type = importlib.import_module(program).run.options_type
  job = getattr(importlib.import_module(f"bert_span.jobs.{name}"), name)
  shared, *cases = _REFUSED_IN_PYTHON[program]
  values = {**shared, **cases[by_job]}
  if by_job:
    options = options_type(**values)
    with pytest.raises((ValueError, OSError, tf.errors.OpError)) as error:
      job(options)
  else:
    with pytest.raises(ValueError) as error:
      options_type(**values)
  message = getattr(error.value, "message", str(error.value)).split("\n")[0]
  words = _flags(options_type, values)
  assert with_flags(message, options_type) in refusal(program, *words)
  assert not list(tmp_path.iterdir())


def test_every_program_is_called_in_python(repository):
  programs = {
    f"{folder}.{path.stem}"
    for folder in ("bert_span", "export")
    for path in (repository / folder).glob("*.py")
    if "\nrun = program(" in path.read_text("utf-8")
  }
  assert programs == {*_REFUSED_IN_PYTHON}
