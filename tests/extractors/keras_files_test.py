"""Keras' own files of an extractor: .keras, its folder and .weights.h5."""

import warnings
import zipfile
from unittest import mock

import keras
import numpy as np
import pytest

from bert_span import BertAdamW, BioExtractor, SpanExtractor
from tests.support.models import (
  CONTEXT,
  QUESTION,
  eagerly,
  shared_extractor,
  tiny_extractor,
)
from tests.support.programs import run_python

_X = {"question": [QUESTION], "context": [CONTEXT]}
_Y = {"answer_text": ["Anna"], "answer_start": [22]}


def _contents(folder):
  return {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


_LOAD = """
import sys, keras, tensorflow
tensorflow.config.run_functions_eagerly(True)
# Classes are registered when they are imported.
from bert_span import BertAdamW, BioExtractor, Extractor, SpanExtractor
for path in sys.argv[1:]:
  load = keras.saving.load_model
  if not path.endswith(".keras"):
    load = Extractor.from_preset
  print(load(path).answer("Who built the mill?", {context!r}))
"""


@pytest.mark.large
def test_saved_models_answer_alike_in_a_fresh_process(tmp_path):
  paths, expected = [], []
  for kind in (SpanExtractor, BioExtractor):
    extractor = tiny_extractor(version_2=True, kind=kind)
    extractor.compile(optimizer=BertAdamW(1e-2))
    extractor.save(tmp_path / f"{kind.head_name}.keras")
    extractor.save_to_preset(tmp_path / kind.head_name)
    paths += [f"{tmp_path}/{kind.head_name}{end}" for end in (".keras", "")]
    with eagerly():
      expected += [str(extractor.answer(QUESTION, CONTEXT))] * 2
  run = run_python("-c", _LOAD.format(context=CONTEXT), *paths)
  assert run.stdout.splitlines() == expected, run.stderr


@pytest.mark.large
def test_a_saved_model_knows_its_frozen_layers_and_its_optimizer(tmp_path):
  extractor = tiny_extractor(num_layers=2)
  extractor.backbone.trainable = False
  extractor.backbone.transformer_layers[-1].trainable = True
  extractor.compile(optimizer=BertAdamW(1e-3), run_eagerly=True)
  extractor.train_on_batch(_X, _Y)
  extractor.save(tmp_path / "qa.keras")
  loaded = keras.saving.load_model(tmp_path / "qa.keras")
  names = [weight.path for weight in extractor.trainable_weights]
  assert [weight.path for weight in loaded.trainable_weights] == names
  assert isinstance(loaded.optimizer, BertAdamW)
  assert int(loaded.optimizer.iterations) == 1
  # The pooler, on which no logit depends, stays frozen.
  loaded.backbone.trainable = True
  loaded.compile(optimizer=BertAdamW(1e-3))
  pooler = {id(weight) for weight in loaded.backbone.pooled_dense.weights}
  assert not pooler & {id(weight) for weight in loaded.trainable_weights}


@pytest.mark.large
def test_a_model_with_lora_is_loaded_without_adapters_and_optimizer(tmp_path):
  extractor, paths = tiny_extractor(), []
  extractor.backbone.enable_lora(2)
  extractor.compile(optimizer=BertAdamW(0.1), run_eagerly=True)
  extractor.train_on_batch(_X, _Y)
  expected = extractor.predict(_X, verbose=0)["start_logits"]
  for save in (extractor.save, lambda x: keras.saving.save_model(extractor, x)):
    paths.append(tmp_path / f"{len(paths)}.keras")
    with warnings.catch_warnings():
      warnings.simplefilter("error", UserWarning)
      save(paths[-1])
      loaded = keras.saving.load_model(paths[-1])
    assert not loaded.compiled
    assert not any("lora" in weight.path for weight in loaded.weights)
    loaded.compile(optimizer=BertAdamW(0.1), run_eagerly=True)
    logits = loaded.predict(_X, verbose=0)["start_logits"]
    np.testing.assert_allclose(logits, expected, atol=1e-4)
    assert np.isfinite(loaded.train_on_batch(_X, _Y)[0])
  assert extractor.compiled


def test_a_file_is_not_replaced_without_overwrite(tmp_path):
  extractor = shared_extractor()
  path = tmp_path / "qa.keras"
  weights_path = tmp_path / "qa.weights.h5"
  extractor.save(path)
  extractor.save_weights(weights_path)
  files = _contents(tmp_path)
  assert len(files) == 2
  with pytest.raises(ValueError, match=f"{path}.*overwrite"):
    extractor.save(path, overwrite=False)
  with pytest.raises(ValueError, match=f"{weights_path}.*overwrite"):
    extractor.save_weights(weights_path, overwrite=False)
  assert _contents(tmp_path) == files


def test_a_file_that_is_damaged_on_the_way_replaces_nothing(
  tmp_path, monkeypatch
):
  """What Keras writes is read back: here with another weight."""
  path = tmp_path / "qa.keras"
  shared_extractor().save(path)
  files, other = _contents(tmp_path), tiny_extractor(seed=3)
  monkeypatch.setattr(
    "bert_span.extractors.keras_files.load_keras_content",
    lambda content, classes: other,
  )
  with pytest.raises(ValueError, match=r"qa\.keras"):
    shared_extractor().save(path)
  assert _contents(tmp_path) == files


@pytest.mark.large
def test_a_folder_of_keras_is_written_whole_or_not_at_all(
  tmp_path, monkeypatch
):
  extractor, path = shared_extractor(), tmp_path / "qa"
  extractor.save(path, zipped=False)
  (path / "note.txt").write_text("mine")
  extractor.save(path, zipped=False)
  loaded = keras.saving.load_model(path)
  with eagerly():
    expected = extractor.answer(QUESTION, CONTEXT)
    assert loaded.answer(QUESTION, CONTEXT).text == expected.text
  files = _contents(tmp_path)
  assert path / "note.txt" in files
  with pytest.raises(ValueError, match=f"{path}.*overwrite"):
    extractor.save(path, overwrite=False, zipped=False)

  def fail(archive, folder):
    archive.extract("config.json", folder)
    raise OSError("disk full")

  monkeypatch.setattr(zipfile.ZipFile, "extractall", fail)
  with pytest.raises(OSError, match="disk full"):
    extractor.save(path, zipped=False)
  assert _contents(tmp_path) == files


@pytest.mark.large
def test_a_folder_that_keras_did_not_write_is_not_replaced(tmp_path):
  (tmp_path / "thesis").mkdir()
  (tmp_path / "thesis" / "chapter.txt").write_text("years of work")
  (tmp_path / "file").write_text("more")
  files = _contents(tmp_path)
  for name in ("thesis", "file"):
    with pytest.raises(ValueError, match=name):
      shared_extractor().save(tmp_path / name, zipped=False)
  with pytest.raises(ValueError, match=r"a\.keras"):
    shared_extractor().save(tmp_path / "a.keras", zipped=False)
  assert _contents(tmp_path) == files


def test_kerass_own_function_asks_the_model_for_its_content_alone(tmp_path):
  """Which is why docs/keras.md says to call extractor.save."""
  extractor, path = shared_extractor(), tmp_path / "qa.keras"
  with mock.patch.object(SpanExtractor, "save") as save:
    keras.saving.save_model(extractor, path)
  save.assert_not_called()
  loaded = keras.saving.load_model(path)
  np.testing.assert_array_equal(loaded.head.kernel, extractor.head.kernel)


def test_a_compiled_model_is_cloned():
  extractor = tiny_extractor()
  extractor.compile(optimizer=BertAdamW(1e-5))
  assert keras.models.clone_model(extractor).compiled
