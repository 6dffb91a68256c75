"""Which Keras backend bert_span accepts, and what needs none."""

import json
import os

import keras
import pytest

import bert_span
from bert_span.keras_backend import ensure_tensorflow_backend
from tests.support.programs import error_line, run_python


@pytest.mark.parametrize(
  ("name", "value"), [("backend", "jax"), ("floatx", "float16")]
)
def test_other_settings_are_refused_with_the_remedy(monkeypatch, name, value):
  ensure_tensorflow_backend()
  monkeypatch.setattr(keras.config, name, lambda: value)
  with pytest.raises(ValueError, match=f"{value}.*KERAS_BACKEND=tensorflow"):
    ensure_tensorflow_backend()
  with pytest.raises(ValueError, match=value):
    bert_span.SpanHead  # noqa: B018 -- the access is what is tested


def test_keras_2_is_refused(monkeypatch):
  monkeypatch.setenv("TF_USE_LEGACY_KERAS", "1")
  with pytest.raises(ValueError, match="TF_USE_LEGACY_KERAS"):
    ensure_tensorflow_backend()


def test_names_without_keras_take_any_backend_and_others_none(tmp_path):
  # The settings of a user, in keras.json.
  (tmp_path / "keras.json").write_text(json.dumps({"backend": "jax"}))
  environ = {**os.environ, "KERAS_HOME": str(tmp_path)}
  environ.pop("KERAS_BACKEND", None)
  code = (
    "import sys, bert_span\n"
    "from bert_span import SquadExample, WindowOptions\n"
    "assert not {'tensorflow', 'keras'} & {*sys.modules}\n"
    "try:\n"
    "  bert_span.SpanExtractor\n"
    "except ValueError as error:\n"
    "  print(error)"
  )
  run = run_python("-c", code, env=environ)
  # Whether jax is installed or not.
  assert "jax" in run.stdout, run.stderr
  assert "KERAS_BACKEND=tensorflow" in run.stdout


def test_a_program_refuses_a_backend_that_is_not_installed(tmp_path):
  command = ("bert_span.ask", "--model=minilm_squad", "--context=c")
  environ = {**os.environ, "KERAS_BACKEND": "none"}
  run = run_python("-m", *command, "--question=q", env=environ)
  assert "none" in error_line(run)


@pytest.mark.parametrize(
  ("missing", "code"),
  [
    ("tensorflow", "from bert_span import TFLiteSpanExtractor"),
    ("tensorflow", "import bert_span.tflite.tflite_extractor"),
    ("tensorflow_text", "from bert_span import TFLiteSpanExtractor"),
    ("keras_hub", "from bert_span import SpanExtractor"),
  ],
)
def test_a_package_that_is_missing_is_named_with_the_remedy(missing, code):
  hide = (
    "from importlib.machinery import PathFinder\n"
    "find = PathFinder.find_spec\n"
    "PathFinder.find_spec = lambda name, *rest: (\n"
    f"  None if name.split('.')[0] == {missing!r} else find(name, *rest))\n"
  )
  run = run_python("-c", hide + code)
  line = run.stderr.splitlines()[-1]
  assert line.startswith("ValueError: ")
  assert missing in line and "pip install" in line


def test_an_unknown_name_is_refused_with_those_that_are():
  with pytest.raises(AttributeError, match="SpanExtractor"):
    bert_span.Nothing  # noqa: B018 -- the access is what is tested


_FORKED = """
import os, signal, sys
from bert_span import SpanExtractor, TFLiteSpanExtractor
from bert_span.serving.batch import make_predict_fn

def in_child(call):
  pid = os.fork()
  if pid == 0:
    signal.alarm(60)
    try: print(call())
    except ValueError as error: print(error)
    sys.stdout.flush()
    os._exit(0)
  assert os.waitpid(pid, 0)[1] == 0

question, passage = "Who came?", "Ada came."
# TensorFlow is imported and nothing is computed yet.
in_child(lambda: SpanExtractor.from_preset("minilm_squad").head_name)
extractor = SpanExtractor.from_preset("minilm_squad")
in_child(lambda: extractor.answer(question, passage))
texts = {"question": [question], "context": [passage]}
in_child(lambda: extractor.predict(texts))
in_child(lambda: extractor.export("nowhere"))
in_child(lambda: SpanExtractor.from_preset("minilm_squad"))
in_child(lambda: make_predict_fn("minilm_squad"))
in_child(lambda: TFLiteSpanExtractor("nowhere.tflite"))
print(extractor.answer(question, passage).text)
predict = make_predict_fn("minilm_squad")
in_child(lambda: predict([question], [passage]))
"""


@pytest.mark.large
def test_a_fork_of_a_process_that_computed_is_refused_and_not_awaited():
  run = run_python("-c", _FORKED)
  assert run.returncode == 0, run.stderr
  before, *forked, answer, after = run.stdout.splitlines()
  assert (before, answer) == ("span", "Ada")
  assert len(forked) == 6
  for line in (*forked, after):
    assert "--preload" in line
    assert "spawn" in line
