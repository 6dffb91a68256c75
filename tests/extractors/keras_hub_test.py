"""An extractor is a task of KerasHub, and its directory is KerasHub's."""

import json
import re
import zipfile
from unittest import mock

import keras
import keras_hub
import numpy as np
import pytest
import tensorflow as tf

import bert_span
from bert_span import BioExtractor, Extractor, SpanExtractor
from bert_span.presets.model_directory import check_checksums
from tests.support.models import (
  CONTEXT,
  INPUTS,
  QUESTION,
  VOCABULARY,
  eagerly,
  shared_extractor,
  shared_model,
)

_X = {"question": [QUESTION, "When?"], "context": [CONTEXT] * 2}
_Y = {"answer_text": ["Anna", "1895"], "answer_start": [22, 30]}


def test_its_parts_are_of_kerashub_and_in_its_summary(monkeypatch):
  monkeypatch.setenv("COLUMNS", "200")  # The table is cut to the terminal.
  extractor, lines = shared_extractor(), []
  assert isinstance(extractor, keras_hub.models.Task)
  assert isinstance(extractor.preprocessor, keras_hub.models.Preprocessor)
  tokenizer = extractor.preprocessor.tokenizer
  assert isinstance(tokenizer, keras_hub.tokenizers.Tokenizer)
  extractor.summary(print_fn=lines.append)
  text = "\n".join(lines)
  assert re.search(rf"word_piece_tokenizer.*: {len(VOCABULARY)}\b", text)
  assert "bert_backbone" in text and "span_head" in text


def test_a_tokenizer_has_the_methods_of_kerashub():
  tokenizer = shared_extractor().preprocessor.tokenizer
  assert tokenizer.get_vocabulary() == VOCABULARY
  assert tokenizer.vocabulary_size() == len(VOCABULARY)
  mill = VOCABULARY.index("mill")
  assert tokenizer.token_to_id("mill") == mill
  assert tokenizer.id_to_token(mill) == "mill"
  for tokenize in (tokenizer, tokenizer.tokenize):
    for texts in (["The mill"], tf.constant(["The mill"])):
      tokens = tokenize(texts)
      assert tokens.ids.to_list() == [[VOCABULARY.index("the"), mill]]
      assert tokens.char_starts.to_list() == [[0, 4]]


def test_kerashub_reads_encoder_and_tokenizer_of_a_directory():
  directory = str(shared_model())
  backbone = keras_hub.models.Backbone.from_preset(directory)
  assert type(backbone) is keras_hub.models.BertBackbone
  expected = shared_extractor().backbone(INPUTS)
  for name, values in backbone(INPUTS).items():
    np.testing.assert_allclose(values, expected[name], atol=1e-3)
  tokenizer = keras_hub.tokenizers.Tokenizer.from_preset(directory)
  ids = [VOCABULARY.index(token) for token in ("the", "mill")]
  assert np.asarray(tokenizer("The mill")).tolist() == ids


@pytest.mark.parametrize("kind", [SpanExtractor, BioExtractor])
def test_the_base_class_loads_the_class_of_the_saved_head(kind):
  other = {SpanExtractor: BioExtractor, BioExtractor: SpanExtractor}[kind]
  directory = shared_model(kind=kind)
  for base in (Extractor, kind, bert_span.Extractor):
    assert type(base.from_preset(directory)) is kind
  assert not issubclass(kind, other)
  with pytest.raises(ValueError, match=f"{directory}.*{kind.__name__}"):
    other.from_preset(directory)
  assert not hasattr(BioExtractor, "answer_over")

  class Own(kind):
    """A class with the head of another one loads its models."""

  assert type(Own.from_preset(directory)) is Own


def test_windows_and_decoding_are_in_two_files_alone():
  directory = shared_model()
  for path in directory.rglob("*.json"):
    text = path.read_text()
    in_task = path.name == "task.json"
    assert ("n_best_size" in text) == ("head_is_trained" in text) == in_task
    assert ("max_query_length" in text) == (path.name == "preprocessor.json")
  check_checksums(directory)
  names = json.loads((directory / "checksums.json").read_text())
  assert "task.weights.h5" in names


def test_parts_are_saved_and_loaded_with_their_model(tmp_path):
  preprocessor = shared_extractor().preprocessor
  for part in (preprocessor, preprocessor.tokenizer):
    with pytest.raises(ValueError, match=r"Extractor\.from_preset\('x'\)"):
      type(part).from_preset("x")
    with pytest.raises(ValueError, match=r"extractor\.save_to_preset"):
      part.save_to_preset(str(tmp_path))


def test_a_preprocessor_takes_an_element_of_a_dataset():
  preprocessor = shared_extractor().preprocessor
  expected = preprocessor(_X, _Y)
  (one,) = tf.data.Dataset.from_tensor_slices((_X, _Y)).batch(2)
  (mapped,) = tf.data.Dataset.from_tensors((_X, _Y)).map(preprocessor)
  for received in (preprocessor((_X, _Y)), preprocessor(one), mapped):
    for part, values in zip(received, expected, strict=True):
      for name, value in values.items():
        np.testing.assert_array_equal(part[name], value)


def test_a_callback_of_fit_may_use_the_model():
  extractor, seen = SpanExtractor.from_preset(shared_model()), []

  def on_epoch_end(epoch, logs):
    seen.append(extractor.evaluate(_X, _Y, verbose=0)[0])
    seen.append(extractor.test_on_batch(_X, _Y)[0])
    seen.append(extractor.predict_on_batch(_X)["start_logits"].shape[0])

  extractor.compile(keras.optimizers.SGD(1e-4), run_eagerly=True)
  callback = keras.callbacks.LambdaCallback(on_epoch_end=on_epoch_end)
  history = extractor.fit(
    *(_X, _Y),
    validation_data=(_X, _Y),
    callbacks=[callback],
    verbose=0,
  ).history
  assert seen[0] == pytest.approx(seen[1]) and seen[2] == 2
  assert history["val_loss"] == pytest.approx(seen[:1])


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
  files = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
  assert path / "note.txt" in files
  with pytest.raises(ValueError, match=f"{path}.*overwrite"):
    extractor.save(path, overwrite=False, zipped=False)

  def fail(archive, folder):
    archive.extract("config.json", folder)
    raise OSError("disk full")

  monkeypatch.setattr(zipfile.ZipFile, "extractall", fail)
  with pytest.raises(OSError, match="disk full"):
    extractor.save(path, zipped=False)
  after = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
  assert after == files


def test_a_folder_that_keras_did_not_write_is_not_replaced(tmp_path):
  (tmp_path / "thesis").mkdir()
  (tmp_path / "thesis" / "chapter.txt").write_text("years of work")
  (tmp_path / "file").write_text("more")
  for name in ("thesis", "file"):
    with pytest.raises(ValueError, match=f"{name} is not replaced"):
      shared_extractor().save(tmp_path / name, zipped=False)
  with pytest.raises(ValueError, match=r"a\.keras"):
    shared_extractor().save(tmp_path / "a.keras", zipped=False)
  assert (tmp_path / "thesis" / "chapter.txt").read_text() == "years of work"


def test_kerass_own_function_asks_the_model_for_its_content_alone(tmp_path):
  """Which is why docs/keras.md says to call extractor.save."""
  extractor, path = shared_extractor(), tmp_path / "qa.keras"
  with mock.patch.object(SpanExtractor, "save") as save:
    keras.saving.save_model(extractor, path)
  save.assert_not_called()
  loaded = keras.saving.load_model(path)
  np.testing.assert_array_equal(loaded.head.kernel, extractor.head.kernel)
