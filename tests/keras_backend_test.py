"""Which Keras backend bert_span accepts."""

import json
import os
import sys
import types

import pytest
from programs import run_python

import bert_span
from bert_span.keras_backend import BackendError, ensure_tensorflow_backend


@pytest.fixture
def ensure(tmp_path, monkeypatch):
  """A function that checks settings as before the first import of Keras."""
  monkeypatch.delitem(sys.modules, "keras")
  monkeypatch.setenv("KERAS_HOME", str(tmp_path))

  def check(backend="", keras_json=None):
    monkeypatch.setenv("KERAS_BACKEND", backend)
    if keras_json is not None:
      (tmp_path / "keras.json").write_text(json.dumps(keras_json))
    ensure_tensorflow_backend()
    return os.environ["KERAS_BACKEND"]

  return check


def test_tensorflow_is_chosen_or_kept(ensure):
  ours = {"backend": "tensorflow", "floatx": "float32"}
  for keras_json in (None, {}, [], 1, ours):
    assert ensure("", keras_json) == "tensorflow"
  assert ensure("tensorflow", {"backend": "jax"}) == "tensorflow"


def test_other_settings_are_refused(ensure, monkeypatch):
  for backend, keras_json, named in (
    ("jax", None, "KERAS_BACKEND .* 'jax'"),
    ("", {"backend": "torch"}, r"keras\.json .* 'torch'"),
    # It would change the scores.
    ("tensorflow", {"floatx": "bfloat16"}, r"keras\.json .* 'bfloat16'"),
  ):
    with pytest.raises(BackendError, match=named):
      ensure(backend, keras_json)
  monkeypatch.setenv("TF_USE_LEGACY_KERAS", "1")
  with pytest.raises(BackendError, match="TF_USE_LEGACY_KERAS"):
    ensure("", {})
  config = types.SimpleNamespace(backend=lambda: "jax")
  keras = types.SimpleNamespace(config=config)
  monkeypatch.setitem(sys.modules, "keras", keras)
  with pytest.raises(BackendError, match=r"imported before bert_span .* 'jax'"):
    ensure()


def test_rooms_with_keras_and_public_names_refuse_another_backend():
  code = (
    "import bert_span, importlib\n"
    "rooms = 'bert_span.text', 'bert_span.answers', 'bert_span.training'\n"
    "imports = [lambda r=r: importlib.import_module(r) for r in rooms]\n"
    "for load in *imports, lambda: bert_span.SpanExtractor:\n"
    "  try:\n"
    "    load()\n"
    "  except bert_span.keras_backend.BackendError:\n"
    "    print('refused')"
  )
  environ = {**os.environ, "KERAS_BACKEND": "jax"}
  run = run_python("-c", code, env=environ)
  assert run.stdout.split() == ["refused"] * 4, run.stderr
  with pytest.raises(AttributeError, match="SpanExtractor"):
    bert_span.Nothing  # noqa: B018 -- the access is what is tested
