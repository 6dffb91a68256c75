"""Which Keras backend bert_span accepts."""

import json
import os

import pytest
from programs import run_python


def run_with(tmp_path, code, backend=None, keras_json=None):
  environment = {k: v for k, v in os.environ.items() if k != "KERAS_BACKEND"}
  environment["KERAS_HOME"] = str(tmp_path)
  if backend is not None:
    environment["KERAS_BACKEND"] = backend
  if keras_json is not None:
    (tmp_path / "keras.json").write_text(json.dumps(keras_json))
  return run_python("-c", code, env=environment)


def import_bert_span(tmp_path, backend=None, keras_json=None, before=""):
  code = f"{before}\nimport bert_span.text, os\n"
  code += "print(os.environ['KERAS_BACKEND'])"
  return run_with(tmp_path, code, backend, keras_json)


def test_tensorflow_is_chosen_when_nothing_is_set(tmp_path):
  assert import_bert_span(tmp_path).stdout == "tensorflow\n"


def test_tensorflow_is_kept_when_it_is_set(tmp_path):
  run = import_bert_span(tmp_path, "tensorflow", {"backend": "jax"})
  assert run.stdout == "tensorflow\n"


@pytest.mark.parametrize(
  ("backend", "keras_json", "named"),
  [
    ("jax", None, "KERAS_BACKEND asks for the backend 'jax'"),
    (None, {"backend": "torch"}, "keras.json asks for the backend 'torch'"),
    # It would change the scores.
    (None, {"floatx": "float16"}, "keras.json asks for the floatx 'float16'"),
    ("tensorflow", {"floatx": "bfloat16"}, "the floatx 'bfloat16'"),
  ],
)
def test_other_settings_are_refused(tmp_path, backend, keras_json, named):
  run = import_bert_span(tmp_path, backend, keras_json)
  assert run.returncode == 1
  assert named in run.stderr


@pytest.mark.parametrize(
  "content", [{}, [], {"backend": "tensorflow", "floatx": "float32"}]
)
def test_a_keras_json_with_our_settings_is_fine(tmp_path, content):
  assert import_bert_span(tmp_path, keras_json=content).returncode == 0


def test_a_keras_loaded_with_another_backend_is_refused(tmp_path):
  fake = (
    "import sys, types; keras = types.ModuleType('keras'); "
    "keras.config = types.SimpleNamespace(backend=lambda: 'jax'); "
    "sys.modules['keras'] = keras"
  )
  run = import_bert_span(tmp_path, before=fake)
  assert run.returncode == 1
  assert "imported before bert_span with the backend 'jax'" in run.stderr


@pytest.mark.parametrize("room", ["text", "answers", "training"])
def test_every_room_with_keras_refuses_another_backend(tmp_path, room):
  run = run_with(tmp_path, f"import bert_span.{room}", "jax")
  assert "KERAS_BACKEND asks for the backend 'jax'" in run.stderr


def test_a_public_name_is_refused_and_not_the_package_alone(tmp_path):
  code = "import bert_span; print('imported'); bert_span.SpanExtractor"
  run = run_with(tmp_path, code, keras_json={"backend": "torch"})
  assert run.stdout == "imported\n"
  assert f"{tmp_path / 'keras.json'} asks for the backend 'torch'" in run.stderr


def test_a_client_of_served_models_works_with_any_backend(tmp_path):
  code = (
    "import os, sys\n"
    "from bert_span.serving.client import SpanClient\n"
    "assert SpanClient('http://127.0.0.1:1').answers([], []) == []\n"
    "assert not {'keras', 'tensorflow'} & set(sys.modules)\n"
    "print(os.environ['KERAS_BACKEND'])"
  )
  assert run_with(tmp_path, code, "torch").stdout == "torch\n"


def test_a_program_ends_with_one_line(tmp_path):
  code = "from bert_span import ask; ask.run()"
  run = run_with(tmp_path, code, "jax")
  assert run.returncode == 1
  (line,) = run.stderr.splitlines()
  assert "KERAS_BACKEND asks for the backend 'jax'" in line


def test_public_names_load_on_first_use_only(tmp_path):
  code = (
    "import sys, bert_span; assert 'tensorflow' not in sys.modules; "
    "assert 'SpanExtractor' in dir(bert_span)"
  )
  run_python("-c", code, check=True)


def test_an_unknown_public_name_lists_the_known_ones():
  import bert_span

  with pytest.raises(AttributeError, match="SpanExtractor"):
    bert_span.Nothing  # noqa: B018 -- the access is what is tested
