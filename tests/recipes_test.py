"""The recipes in flags/: each gives options that its program takes."""

import importlib
import pathlib
import re

import pytest

from bert_span.options.fields import flag_name, option_fields, option_type

_FOLDER = pathlib.Path(__file__).parents[1] / "flags"
_OPTIONS = {
  "run_squad": "RunSquadOptions",
  "run_pretraining": "RunPretrainingOptions",
}
# What a command adds.
_MODEL = {"preset": "p"}
_ORIGINAL = {"vocab_file": "v"}  # where a recipe has a bert_config_file
_FILES = {
  "run_squad": {"train_file": "t", "predict_file": "p"},
  "run_pretraining": {"input_file": ("i",), "eval_file": ("e",)},
}


@pytest.mark.parametrize("name", sorted(x.name for x in _FOLDER.iterdir()))
def test_a_recipe_has_a_header_and_options_of_its_program(name):
  lines = (_FOLDER / name).read_text("utf-8").splitlines()
  header = "\n".join(line for line in lines if line.startswith("#"))
  for key in ("Program", "Command", "Data", "Hardware", "Time", "EM/F1"):
    assert re.search(rf"^# {key}:", header, re.MULTILINE), key
  program = re.search(r"bert_span\.(\w+)", header)[1]
  assert f"--flagfile=flags/{name}" in header
  module = importlib.import_module(f"bert_span.{program}")
  options_type = getattr(module, _OPTIONS[program])
  fields = {flag_name(field): field for field in option_fields(options_type)}
  values = {}
  for line in lines:
    if line.startswith("--"):
      flag, has_value, text = line[2:].partition("=")
      if not has_value:
        flag, text = (flag, True) if flag in fields else (flag[2:], "")
      field = fields[flag]
      values[field.name] = option_type(field)[0](text)
  model = _ORIGINAL if "bert_config_file" in values else _MODEL
  added = {"output_dir": "o", **model, **_FILES[program]}
  options = options_type(**added | values)
  assert {key: getattr(options, key) for key in values} == values
