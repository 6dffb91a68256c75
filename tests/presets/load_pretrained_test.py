"""Every kind of source that an encoder can come from."""

import json

import keras
import keras_hub
import numpy as np
import pytest
import tensorflow as tf

from bert_span import SpanExtractor
from bert_span.presets import load_pretrained
from bert_span.presets.encoder_source import EncoderSource
from bert_span.presets.encoder_weights import original_tensors
from bert_span.presets.huggingface_writer import (
  config_values,
  save_huggingface,
)
from bert_span.storage.files import copy_tree
from tests.support.models import (
  ALBERT,
  VOCABULARY,
  shared_extractor,
  shared_model,
  tiny_encoder,
  tiny_pieces,
)
from tests.support.training import assert_same


def test_saved_model_comes_back_with_its_head_from_any_file_system():
  model, directory = shared_extractor(), "ram://load_pretrained/model"
  copy_tree(str(shared_model()), directory)
  loaded = load_pretrained.load_pretrained(directory)
  assert loaded.description == f"the model bert_span trained in {directory}"
  assert_same(loaded.backbone.weights, model.backbone.weights)
  head = loaded.head_weights["span_head"]
  np.testing.assert_array_equal(head["kernel"], model.head.kernel)
  np.testing.assert_array_equal(head["bias"], model.head.bias)
  assert (loaded.vocabulary(), loaded.lower_case) == (VOCABULARY, True)


def test_keras_hub_preset_brings_its_vocabulary(tmp_path):
  vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdef"]
  tokenizer = keras_hub.tokenizers.BertTokenizer(vocabulary, lowercase=False)
  backbone = tiny_encoder()
  for part in (backbone, tokenizer):
    part.save_to_preset(str(tmp_path))
  loaded = load_pretrained.load_pretrained(str(tmp_path))
  assert_same(loaded.backbone.weights, backbone.weights)
  assert (loaded.head_weights, loaded.lower_case) == ({}, False)
  assert loaded.vocabulary() == vocabulary


@pytest.mark.parametrize(
  ("file", "key", "value"),
  [
    ("config.json", "architectures", ["RobertaModel"]),
    ("config.json", "tokenizer_class", "BertJapaneseTokenizer"),
    ("tokenizer_config.json", "never_split", ["x"]),
  ],
)
def test_a_model_on_a_hub_is_checked_as_a_directory_is(
  tmp_path, model_hub, file, key, value
):
  directory = tmp_path / "model"
  save_huggingface(shared_extractor(), directory)
  model_hub.push("us/tiny", directory)
  loaded = load_pretrained.load_pretrained("hf://us/tiny")
  assert loaded.vocabulary() == VOCABULARY
  path = directory / file
  path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
  model_hub.push("us/tiny", directory)
  with pytest.raises(ValueError, match=rf"{file}: {key} "):
    load_pretrained.load_pretrained("hf://us/tiny")


@pytest.mark.parametrize("lower_case", [True, False])
def test_a_folder_of_the_original_albert_is_a_preset(tmp_path, lower_case):
  pieces = tiny_pieces("albert")
  backbone = tiny_encoder(
    architecture="albert", vocabulary_size=len(pieces.tokens), **ALBERT
  )
  tensors = original_tensors(backbone)
  tf.raw_ops.SaveV2(
    prefix=str(tmp_path / "model.ckpt-best"),
    tensor_names=[f"bert/{name}" for name in tensors],
    shape_and_slices=[""] * len(tensors),
    tensors=list(tensors.values()),
  )
  config = config_values(backbone)
  del config["model_type"]
  config["hidden_act"] = "gelu"
  (tmp_path / "albert_config.json").write_text(json.dumps(config))
  (tmp_path / "30k-clean.model").write_bytes(pieces.proto)
  if not lower_case:
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": false}')
  source = EncoderSource(preset=str(tmp_path))
  loaded = source.load()
  assert_same(loaded.backbone.weights, backbone.weights)
  assert source.lower_case(loaded) is lower_case
  vocabulary = loaded.vocabulary()
  assert vocabulary.tokens == pieces.tokens
  assert vocabulary.albert_rules["do_lower_case"] is lower_case


def test_without_a_checkpoint_the_weights_are_random(tmp_path):
  values = config_values(tiny_encoder())
  del values["model_type"]
  path = tmp_path / "bert_config.json"
  path.write_text(json.dumps(values))
  keras.utils.set_random_seed(1)
  loaded = load_pretrained.load_original(str(path))
  assert loaded.description == f"random weights, sizes from {path}"
  assert (loaded.backbone.num_layers, loaded.backbone.hidden_dim) == (1, 8)
  embeddings = loaded.backbone.token_embedding.embeddings.numpy()
  assert 0.01 < embeddings.std() < 0.03


@pytest.mark.parametrize(
  ("name", "content", "message"),
  [
    ("bert_config.json", "{}", r"bert_model\.ckpt\.index.*bert_config\.json"),
    ("notes.txt", "x", r"config\.json.*notes\.txt"),
    ("config.json", '{"a": 1}', "registered_name.*model_type"),
    ("pytorch_model.bin", "", r"config\.json.*pytorch_model\.bin"),
    ("bert_model.ckpt.index", "", r"bert_config\.json.*ckpt\.index"),
  ],
)
def test_directory_of_another_kind_is_refused(tmp_path, name, content, message):
  (tmp_path / name).write_text(content, encoding="utf-8")
  with pytest.raises(ValueError, match=message):
    load_pretrained.load_pretrained(str(tmp_path))


@pytest.mark.parametrize(
  ("name", "words"),
  [
    ("no_such", "'no_such'.*minilm_squad.*all-minilm.*presets"),
    ("minilm-squad", "Similar names: minilm_squad"),
    ("bert-base-uncased", "Similar names: bert_base_en_uncased"),
    ("no/such", r"hf://no/such\."),
    ("/no_such", r"hf://\."),
  ],
)
def test_an_unknown_name_is_refused_with_the_names_like_it(name, words):
  with pytest.raises(ValueError, match=words) as error:
    load_pretrained.load_pretrained(name)
  assert len(str(error.value)) < 300
  # Where all names are.
  presets = SpanExtractor.presets
  assert {"minilm_squad", "all-minilm-l6-v2", "bert_base_en"} <= {*presets}
  assert all(values["metadata"] for values in presets.values())


def test_unknown_file_systems_and_single_files_are_refused(tmp_path):
  weights, pickled = tmp_path / "model.weights.h5", tmp_path / "a.bin"
  for path in (weights, pickled):
    path.touch()
  for preset, message in (
    ("nofs://a/b", "nofs://a/b"),
    (weights, str(weights)),
    (pickled, rf"{pickled} .*directory"),
  ):
    with pytest.raises(ValueError, match=message):
      load_pretrained.load_pretrained(preset)
