"""Heads are read back, and by transformers.

run_pretraining_test.py reads the encoder of all formats back.
"""

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from safetensors.numpy import load_file, save_file

from bert_span.pretraining.loss import pretraining_inputs
from bert_span.pretraining.model_files import (
  HEADS_FILE,
  assign_heads,
  head_tensors,
  read_original_heads,
  read_pretraining_heads,
  write_huggingface,
  write_preset,
  write_tf1,
)
from bert_span.storage.files import read_json_object
from tests.support.hub import write_torch_file
from tests.support.training import assert_same, tiny_batch, tiny_model

_VOCABULARY = ["[UNK]", "[CLS]", "[SEP]"]
# In a process of its own: PyTorch's compiler and TensorFlow, loaded into one,
# end it in some of their versions.
_TRANSFORMERS = """
import sys
import numpy as np
import torch
import transformers

directory, inputs_path, logits_path = sys.argv[1:]
model, report = transformers.BertForMaskedLM.from_pretrained(
  directory, output_loading_info=True
)
assert not report["missing_keys"], report
with np.load(inputs_path) as stored:
  inputs = {name: torch.tensor(stored[name]).long() for name in stored}
with torch.no_grad():
  np.save(logits_path, model.eval()(**inputs)["logits"].numpy())
"""


@pytest.fixture(scope="module")
def model():
  return tiny_model()


@pytest.fixture(scope="module")
def huggingface(model, tmp_path_factory):
  folder = str(tmp_path_factory.mktemp("huggingface"))
  write_huggingface(folder, model, _VOCABULARY, True)
  return folder


def mlm_tensors(model):
  tensors = head_tensors(model)
  return {n: tensors[n] for n in tensors if n.startswith("cls/predictions/")}


def assert_same_heads(tensors, expected):
  assert tensors.keys() == expected.keys()
  assert_same([tensors[name] for name in expected], expected.values())


def test_the_checkpoint_is_read_back(model, tmp_path):
  write_tf1(str(tmp_path), model, _VOCABULARY, True)
  assert sorted(os.listdir(tmp_path)) == [
    *("bert_config.json", "bert_model.ckpt.data-00000-of-00001"),
    *("bert_model.ckpt.index", "vocab.txt"),
  ]
  checkpoint = str(tmp_path / "bert_model.ckpt")
  config = str(tmp_path / "bert_config.json")
  assert_same_heads(read_original_heads(checkpoint), head_tensors(model))
  assert_same_heads(read_pretraining_heads(str(tmp_path)), head_tensors(model))
  assert read_json_object(config)["hidden_act"] == "gelu"
  # The original's names and shapes.
  shapes = dict(tf.train.list_variables(checkpoint))
  expected = {
    "bert/embeddings/word_embeddings": [23, 8],
    "bert/encoder/layer_0/intermediate/dense/kernel": [8, 12],
    "bert/pooler/dense/kernel": [8, 8],
    "cls/predictions/output_bias": [23],
    "cls/predictions/transform/LayerNorm/gamma": [8],
  }
  assert expected.items() <= shapes.items()


def test_the_huggingface_directory_is_read_back(model, huggingface):
  assert_same_heads(read_pretraining_heads(huggingface), mlm_tensors(model))
  values = read_json_object(os.path.join(huggingface, "config.json"))
  assert values["hidden_act"] == "gelu_new"  # the tanh form
  assert values["architectures"] == ["BertForMaskedLM"]


def test_pickled_heads_are_read(model, huggingface, tmp_path):
  tensors = load_file(os.path.join(huggingface, "model.safetensors"))
  write_torch_file(tmp_path / "pytorch_model.bin", tensors)
  assert_same_heads(read_pretraining_heads(tmp_path), mlm_tensors(model))


def test_the_heads_of_old_and_of_wrapped_files_are_read(
  model, huggingface, tmp_path
):
  path = tmp_path / "model.safetensors"
  tensors = load_file(os.path.join(huggingface, path.name))
  old = {
    # As in Google's files on the hub, and after DistributedDataParallel.
    "module." + name.replace("LayerNorm.weight", "LayerNorm.gamma"): tensor
    for name, tensor in tensors.items()
  }
  save_file(old, path)
  assert_same_heads(read_pretraining_heads(str(tmp_path)), mlm_tensors(model))
  save_file(old | tensors, path)
  with pytest.raises(ValueError, match=f"{path.name}.*{path.name}"):
    read_pretraining_heads(str(tmp_path))


@pytest.mark.large
def test_transformers_reads_it_and_computes_the_same(
  model, huggingface, tmp_path
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
  paths = huggingface, tmp_path / "inputs.npz", tmp_path / "logits.npy"
  subprocess.run([sys.executable, "-c", _TRANSFORMERS, *paths], check=True)
  logits = np.load(tmp_path / "logits.npy")
  rows = np.arange(len(logits))[:, np.newaxis]
  np.testing.assert_allclose(
    logits[rows, batch["masked_positions"]],
    model(pretraining_inputs(batch))["mlm_logits"],
    atol=1e-4,
  )


def test_saved_heads_are_read_back(model, tmp_path):
  write_preset(str(tmp_path), model, _VOCABULARY, True)
  copy = tiny_model(seed=2)
  new, stored = head_tensors(copy), mlm_tensors(model)
  # A head that is not stored stays new.
  assert assign_heads(copy, {}, "there") == []
  assert assign_heads(copy, stored, "there") == ["masked language model"]
  assert_same_heads(head_tensors(copy), new | stored)
  filled = assign_heads(copy, read_pretraining_heads(str(tmp_path)), "there")
  assert filled == ["masked language model", "span boundary"]
  assert_same_heads(head_tensors(copy), head_tensors(model))


def test_heads_of_another_size_with_holes_or_damaged_are_refused(
  model, tmp_path
):
  tensors = head_tensors(model)
  wrong = {**tensors, "cls/predictions/output_bias": np.zeros(5, "float32")}
  with pytest.raises(ValueError, match=r"output_bias .*there.*\[5\]"):
    assign_heads(model, wrong, "there")
  del tensors["cls/span_boundary/transform_2/dense/bias"]
  with pytest.raises(ValueError, match=r"cls/span_boundary/.*there"):
    assign_heads(model, tensors, "there")
  (tmp_path / HEADS_FILE).write_bytes(b"damaged")
  with pytest.raises(ValueError, match=HEADS_FILE):
    read_pretraining_heads(str(tmp_path))
