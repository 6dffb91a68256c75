"""Reading the original's checkpoints into KerasHub's encoder."""

import dataclasses
import json
import re

import numpy as np
import pytest
import tensorflow as tf
from tiny_encoder import tiny_config

from bert_span.modeling.architectures import ARCHITECTURES
from bert_span.presets.encoder_source import EncoderSource
from bert_span.presets.encoder_weights import (
  load_tf1_checkpoint,
  original_weights,
)

_CONFIG = tiny_config(hidden_dim=4, intermediate_dim=6, max_sequence_length=5)
_LAYER, _TABLE = "bert/encoder/layer_0", "bert/embeddings/word_embeddings"


@pytest.fixture
def tensors():
  """Random tensors with the original's names and shapes."""
  random = np.random.default_rng(0)
  return {
    f"bert/{name}": random.normal(size=shape).astype("float32")
    for name, shape in original_weights(_CONFIG).values()
  }


@pytest.fixture
def load(tmp_path):
  """A function that writes tensors as TensorFlow 1 does, and loads them."""

  def write_and_load(tensors, config=_CONFIG):
    prefix = str(tmp_path / "bert_model.ckpt")
    tf.raw_ops.SaveV2(
      prefix=prefix,
      tensor_names=list(tensors),
      shape_and_slices=[""] * len(tensors),
      tensors=list(tensors.values()),
    )
    return load_tf1_checkpoint(config, prefix)

  return write_and_load


def test_every_weight_is_filled_and_the_heads_kernel_transposed(load, tensors):
  kernel = np.arange(8, dtype="float32").reshape(2, 4)
  tensors["cls/squad/output_weights"] = kernel
  tensors["cls/squad/output_bias"] = np.array([1.0, 2.0], "float32")
  loaded = load(tensors)
  head = loaded.head_weights["span_head"]
  assert head["kernel"].tolist() == [[0, 4], [1, 5], [2, 6], [3, 7]]
  assert head["bias"].tolist() == [1.0, 2.0]
  backbone = loaded.backbone
  names = original_weights(_CONFIG)
  assert {weight.path for weight in backbone.weights} == names.keys()
  for weight in backbone.weights:
    stored = tensors[f"bert/{names[weight.path][0]}"]
    np.testing.assert_array_equal(weight.numpy().ravel(), stored.ravel())


def test_other_names_are_ignored_and_the_pooler_may_be_missing(
  load, tensors, capsys
):
  for part in ("kernel", "bias"):
    del tensors[f"bert/pooler/dense/{part}"]
  tensors[f"{_TABLE}/adam_m"] = tensors[_TABLE] * 0
  tensors["cls/predictions/output_bias"] = np.zeros(11, "float32")
  tensors["global_step"] = np.array(7, "int64")
  loaded = load(tensors)
  assert loaded.head_weights == {}
  np.testing.assert_array_equal(
    loaded.backbone.token_embedding.embeddings, tensors[_TABLE]
  )
  assert "has no pooler" in capsys.readouterr().err


@pytest.mark.parametrize(
  ("name", "values", "message"),
  [
    (f"{_LAYER}/attention/self/key/bias", None, "lacks .*key/bias"),
    (_TABLE, np.zeros((12, 4)), r"word_embeddings.* \[12, 4\].* \[11, 4\]"),
    (f"{_LAYER}/output/dense/bias", [1, 2, np.nan, 3], "output_dense/bias"),
    ("bert/encoder/layer_1/attention/self/query/kernel", [1], "than the 1 of"),
    ("cls/squad/output_weights", np.zeros((3, 4)), r"\[2, 4\].* \[3, 4\]"),
  ],
)
def test_a_missing_or_other_tensor_is_refused(
  load, tensors, name, values, message
):
  tensors.pop(name, None)
  if values is not None:
    tensors[name] = np.array(values, np.float32)
  with pytest.raises(ValueError, match=message):
    load(tensors)


def test_a_checkpoint_of_another_config_is_refused(load, tensors):
  for changes, message in (
    ({"num_layers": 2}, r"lacks .*layer_1.*and 11 more"),
    # Refused before memory is taken for them.
    ({"num_layers": 1000}, "lacks .*layer_1"),
    ({"hidden_dim": 2**24}, "16777216"),
    ({"vocabulary_size": 2**24}, "16777216"),
  ):
    with pytest.raises(ValueError, match=message):
      load(tensors, dataclasses.replace(_CONFIG, **changes))


@pytest.mark.parametrize(
  ("path", "message"),
  [
    ("dir/model.ckpt.index", r" dir/model\.ckpt\. Received"),
    ("dir/model.ckpt.data-00000-of-00001", r" dir/model\.ckpt\. Received"),
    ("pytorch_model.bin", "safetensors"),
    ("dir/nothing", "Cannot read .*dir/nothing"),
  ],
)
def test_what_is_no_checkpoint_is_refused(path, message):
  with pytest.raises(ValueError, match=message):
    load_tf1_checkpoint(_CONFIG, path)


def test_the_remedy_for_one_file_of_a_checkpoint_loads_it(
  tmp_path, load, tensors
):
  load(tensors)
  with pytest.raises(ValueError) as caught:
    load_tf1_checkpoint(_CONFIG, f"{tmp_path}/bert_model.ckpt.index")
  prefix = re.search(r"files: (\S+)\. Received", str(caught.value))[1]
  assert load_tf1_checkpoint(_CONFIG, prefix).backbone


def test_the_remedy_for_a_directory_of_the_original_loads_it(
  tmp_path, load, tensors
):
  load(tensors)
  keys = ARCHITECTURES["bert"].huggingface_keys.items()
  config = {key: getattr(_CONFIG, name) for name, key in keys}
  (tmp_path / "bert_config.json").write_text(json.dumps(config))
  pieces = ["[UNK]", "[CLS]", "[SEP]", *map(str, range(100))]
  rows = "\n".join(pieces[: _CONFIG.vocabulary_size])
  (tmp_path / "vocab.txt").write_text(rows)
  with pytest.raises(ValueError) as caught:
    EncoderSource(preset=str(tmp_path)).load()
  flags = dict(re.findall(r"--(\w+)=(\S+?),? ", str(caught.value)))
  loaded = EncoderSource(**flags).load()
  (table,) = (w for w in loaded.backbone.weights if "token" in w.path)
  np.testing.assert_array_equal(table, tensors[_TABLE])


def test_object_checkpoint_of_tensorflow_2_is_refused(tmp_path):
  path = tf.train.Checkpoint(x=tf.Variable(1.0)).save(str(tmp_path / "two"))
  with pytest.raises(ValueError, match="TensorFlow 2 object checkpoint"):
    load_tf1_checkpoint(_CONFIG, path)
