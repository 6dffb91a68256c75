"""Options that a model has saved, where flags have none."""

import json
import re
import shutil

import pytest

from tests.support.models import shared_model
from tests.support.programs import run_here

_DECODE = "--predict_file=x --output_dir=y --logits_file=z"


@pytest.mark.parametrize(
  ("value", "message"),
  [
    ({"n_best_size": 0}, "n_best_size must be .* 0"),
    ({"temperature": "hot"}, "temperature must be .*'hot'"),
    ({"n_best_sise": 20}, "no option n_best_sise"),
  ],
)
@pytest.mark.parametrize(
  ("name", "flags"),
  [
    ("ask", "--question=Who? --context=Anna. --model"),
    ("decode", f"{_DECODE} --model"),
    ("calibrate", "--predict_file=x --noplots --model"),
    ("lint_squad", "x.json --preset"),
    ("run_squad", "--do_predict --predict_file=x --output_dir=y --preset"),
  ],
)
def test_a_wrong_value_of_a_saved_option_is_named_with_its_file(
  tmp_path, name, flags, value, message
):
  model = tmp_path / "model"
  shutil.copytree(shared_model(), model)
  task = json.loads((model / "task.json").read_text())
  task["config"]["decoder_options"] |= value
  (model / "task.json").write_text(json.dumps(task))
  run = run_here(f"bert_span.{name}", *f"{flags}={model}".split())
  assert run.returncode == 1
  (line,) = run.stderr.splitlines()[-1:]
  assert f"{model}/task.json, decoder" in line
  assert re.search(message, line)
