"""Models are read back by our own loaders and by transformers."""

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from tiny_pretraining import SIZES, encoder_inputs, tiny_batch, tiny_model
from toy_trainer import assert_same

from bert_span.presets.load_pretrained import load_original, load_pretrained
from bert_span.pretraining.loss import model_inputs
from bert_span.pretraining.model_files import (
  BERT_CONFIG_FILE,
  CHECKPOINT_NAME,
  HEADS_FILE,
  assign_heads,
  export_huggingface,
  export_tf1,
  head_tensors,
  read_heads,
  read_original_heads,
  write_model,
)
from bert_span.storage.files import read_json_object


@pytest.fixture(scope="module")
def model():
  return tiny_model()


@pytest.fixture(scope="module")
def huggingface(model, tmp_path_factory):
  folder = str(tmp_path_factory.mktemp("huggingface"))
  export_huggingface(model.backbone, folder, head_tensors(model))
  return folder


def assert_same_encoder(loaded, model):
  assert_same(loaded.backbone.weights, model.backbone.weights)


def assert_same_heads(tensors, expected):
  assert tensors.keys() == expected.keys()
  assert_same([tensors[name] for name in expected], expected.values())


def test_the_checkpoint_is_read_back(model, tmp_path):
  tf1 = str(tmp_path)
  export_tf1(model.backbone, tf1, head_tensors(model))
  assert sorted(os.listdir(tf1)) == [
    *("bert_config.json", "bert_model.ckpt.data-00000-of-00001"),
    "bert_model.ckpt.index",
  ]
  checkpoint = os.path.join(tf1, CHECKPOINT_NAME)
  config = os.path.join(tf1, BERT_CONFIG_FILE)
  assert_same_encoder(load_original(config, checkpoint), model)
  assert_same_heads(read_original_heads(checkpoint), head_tensors(model))
  values = read_json_object(config)
  assert values["num_attention_heads"] == SIZES.num_heads
  assert values["type_vocab_size"] == SIZES.num_segments
  assert values["hidden_act"] == "gelu"
  # The original's names and shapes.
  shapes = dict(tf.train.list_variables(checkpoint))
  layer = "bert/encoder/layer_0"
  expected = {
    "bert/embeddings/word_embeddings": [23, 8],
    f"{layer}/attention/self/query/kernel": [8, 8],
    f"{layer}/attention/output/dense/kernel": [8, 8],
    f"{layer}/intermediate/dense/kernel": [8, 12],
    "bert/pooler/dense/kernel": [8, 8],
    "cls/predictions/output_bias": [23],
    "cls/predictions/transform/LayerNorm/gamma": [8],
  }
  assert expected.items() <= shapes.items()


def test_the_huggingface_directory_is_read_back(model, huggingface):
  loaded = load_pretrained(huggingface)
  assert_same_encoder(loaded, model)
  stored = read_heads(huggingface)
  copy = tiny_model(seed=9)
  copy.backbone.set_weights(loaded.backbone.get_weights())
  assert assign_heads(copy, stored, huggingface) == ["masked language model"]
  inputs = model_inputs(tiny_batch())
  np.testing.assert_allclose(
    copy(inputs)["mlm_logits"], model(inputs)["mlm_logits"], atol=1e-6
  )
  values = read_json_object(os.path.join(huggingface, "config.json"))
  assert values["model_type"] == "bert"
  assert values["layer_norm_eps"] == 1e-12
  assert values["hidden_act"] == "gelu_new"  # the tanh form
  assert values["architectures"] == ["BertForMaskedLM"]


def test_an_encoder_is_exported_without_heads_too(model, tmp_path):
  export_tf1(model.backbone, str(tmp_path), {})
  assert read_original_heads(str(tmp_path / CHECKPOINT_NAME)) == {}
  export_huggingface(model.backbone, str(tmp_path), {})
  assert read_heads(str(tmp_path)) == {}
  config = read_json_object(str(tmp_path / "config.json"))
  assert config["architectures"] == ["BertModel"]


@pytest.mark.large
def test_transformers_reads_it_and_computes_the_same(
  model, huggingface, repository, tmp_path
):
  for name in ("torch", "transformers"):
    if not importlib.util.find_spec(name):
      pytest.skip(f"{name} is not installed")
  batch = tiny_batch()
  np.savez(
    tmp_path / "inputs.npz",
    input_ids=batch["input_ids"],
    attention_mask=batch["input_mask"],
  )
  script = repository / "tests/support/transformers_outputs.py"
  paths = huggingface, tmp_path / "inputs.npz", tmp_path / "outputs.npz"
  subprocess.run([sys.executable, script, *paths], check=True)
  with np.load(tmp_path / "outputs.npz") as theirs:
    logits, hidden = theirs["logits"], theirs["last_hidden_state"]
  rows = np.arange(len(logits))[:, np.newaxis]
  np.testing.assert_allclose(
    logits[rows, batch["masked_positions"]],
    model(model_inputs(batch))["mlm_logits"],
    atol=1e-4,
  )
  ours = model.backbone(encoder_inputs(batch))["sequence_output"].numpy()
  kept = batch["input_mask"].astype(bool)
  np.testing.assert_allclose(hidden[kept], ours[kept], atol=1e-4)


def test_saved_heads_are_read_back(model, tmp_path):
  write_model(str(tmp_path), model, ["[UNK]", "[CLS]", "[SEP]"], True)
  tensors = read_heads(str(tmp_path))
  copy = tiny_model(seed=2)
  new = head_tensors(copy)
  # A head that is not stored stays new.
  stored = {n: tensors[n] for n in tensors if n.startswith("cls/predictions/")}
  assert assign_heads(copy, {}, "there") == []
  assert assign_heads(copy, stored, "there") == ["masked language model"]
  assert_same_heads(head_tensors(copy), new | stored)
  filled = assign_heads(copy, tensors, "there")
  assert filled == ["masked language model", "span boundary"]
  assert_same_heads(head_tensors(copy), head_tensors(model))


def test_a_head_of_another_size_or_with_holes_is_refused(model):
  tensors = head_tensors(model)
  wrong = {**tensors, "cls/predictions/output_bias": np.zeros(5, "float32")}
  with pytest.raises(ValueError, match=r"output_bias of there .* \[5\]"):
    assign_heads(model, wrong, "there")
  del tensors["cls/span_boundary/transform_2/dense/bias"]
  with pytest.raises(ValueError, match=r"cls/span_boundary/.* of there"):
    assign_heads(model, tensors, "there")


def test_a_damaged_file_is_named(tmp_path):
  (tmp_path / HEADS_FILE).write_bytes(b"damaged")
  with pytest.raises(ValueError, match=HEADS_FILE):
    read_heads(str(tmp_path))
