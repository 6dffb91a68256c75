"""ModernBERT's backbone, by hand, and against transformers."""

import importlib.util
import json
import os
import subprocess
import sys

import keras
import keras_hub
import numpy as np
import pytest
from keras import ops

from bert_span.modeling.keras_internals import sublayers
from bert_span.modeling.modernbert import ModernBertBackbone
from bert_span.presets.huggingface import load_huggingface
from bert_span.tflite.tflite_extractor import TFLiteSpanExtractor
from tests.support.models import QUESTION, extractor_of

_SIZES = {
  "vocabulary_size": 60,
  "num_layers": 4,
  "num_heads": 2,
  "hidden_dim": 16,
  "intermediate_dim": 24,
  "sliding_window_size": 8,
}


def _inputs(seq_length=30, lengths=(30, 17)):
  """Windows of these lengths, padded with ids that are tokens, too."""
  ids = np.random.default_rng(1).integers(0, 60, [len(lengths), seq_length])
  mask = np.arange(seq_length) < np.array(lengths)[:, None]
  return {
    "token_ids": ids.astype("int32"),
    "padding_mask": mask.astype("int32"),
  }


def _backbone(**changes):
  """A backbone in which no weight is 0 or 1."""
  keras.utils.set_random_seed(0)
  backbone = ModernBertBackbone(**_SIZES | changes)
  rng = np.random.default_rng(0)
  for weight in backbone.weights:
    weight.assign(weight + rng.normal(0, 0.3, weight.shape))
  return backbone


def _output(backbone, inputs):
  """float32 [tokens, hidden], without padding."""
  outputs = ops.convert_to_numpy(ops.cast(backbone(inputs), "float32"))
  return outputs[inputs["padding_mask"] == 1]


def test_every_third_layer_is_global():
  backbone = _backbone(num_layers=7)
  layers = backbone.transformer_layers
  assert [layer.sliding_window_size for layer in layers] == [
    *(None, 8, 8, None, 8, 8, None)
  ]
  assert [layer.rope_max_wavelength for layer in layers] == [
    *(160000, 10000, 10000, 160000, 10000, 10000, 160000)
  ]
  assert [layer.normalizes_attention_inputs for layer in layers] == [
    False,
    *[True] * 6,
  ]


def test_no_weight_is_a_bias():
  # 22 layers of 768, 1152 wide inside, with 50,368 tokens have 149 million
  # weights (section 2.2 of the paper). The same sum at these sizes:
  tokens, first, layer = 60 * 16, 4 * 16**2 + 3 * 16 * 24 + 16, 16
  assert _backbone().count_params() == tokens + 4 * first + 3 * layer + 2 * 16


def test_the_backbone_is_made_again_from_its_config(tmp_path):
  changes = {
    "max_sequence_length": 99,
    "global_attn_every_n_layers": 2,
    "sliding_window_size": 6,
    "global_rope_max_wavelength": 700.0,
    "local_rope_max_wavelength": 70.0,
    "activation": "relu",
    "layer_norm_epsilon": 1e-3,
    "dropout": 0.2,
    "attention_dropout": 0.3,
    "embedding_dropout": 0.4,
    "dtype": "mixed_bfloat16",
    "name": "encoder",
    "trainable": False,
  }
  backbone = _backbone(**changes)
  config = backbone.get_config()
  dtype = config.pop("dtype")["config"]["name"]
  assert {**config, "dtype": dtype} == _SIZES | changes
  backbone.save_to_preset(tmp_path)
  again = keras_hub.models.Backbone.from_preset(
    str(tmp_path), dtype="mixed_bfloat16"
  )
  assert again.get_config() == backbone.get_config()
  inputs = _inputs()
  np.testing.assert_array_equal(
    _output(again, inputs), _output(backbone, inputs)
  )
  rates = [x.rate for x in sublayers(again, keras.layers.Dropout)]
  assert sorted(rates) == [0.2] * 8 + [0.3] * 4 + [0.4]


@pytest.mark.large
def test_dropout_is_applied_in_training_only():
  inputs = _inputs()
  names = "dropout", "attention_dropout", "embedding_dropout"
  for rates in ({name: 0.5} for name in names):
    backbone = _backbone(**rates)
    expected = ops.convert_to_numpy(backbone(inputs))
    np.testing.assert_array_equal(backbone(inputs, training=False), expected)
    changed = ops.convert_to_numpy(backbone(inputs, training=True))
    assert np.abs(changed - expected).max() > 0.1


_COMPUTE = """
import json, pathlib, sys
import keras, numpy as np
import bert_span.modeling.modernbert
folder = sys.argv[1]
written = json.loads(pathlib.Path(folder, "backbone.json").read_text())
backbone = keras.saving.deserialize_keras_object(written)
backbone.load_weights(f"{folder}/model.weights.h5")
outputs = backbone(dict(np.load(f"{folder}/inputs.npz")))
np.save(f"{folder}/{keras.backend.backend()}.npy",
        keras.ops.convert_to_numpy(outputs))
"""


@pytest.mark.large
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_other_backends_of_keras_compute_the_same(tmp_path, backend):
  if not importlib.util.find_spec(backend):
    pytest.skip(f"{backend} is not installed")
  backbone, inputs = _backbone(), _inputs()
  written = keras.saving.serialize_keras_object(backbone)
  (tmp_path / "backbone.json").write_text(json.dumps(written))
  backbone.save_weights(tmp_path / "model.weights.h5")
  np.savez(tmp_path / "inputs.npz", **inputs)
  subprocess.run(
    [sys.executable, "-c", _COMPUTE, str(tmp_path)],
    env={**os.environ, "KERAS_BACKEND": backend},
    check=True,
  )
  found = np.load(tmp_path / f"{backend}.npy")[inputs["padding_mask"] == 1]
  np.testing.assert_allclose(found, _output(backbone, inputs), atol=1e-4)


# Sizes that differ from _SIZES, and the lengths of windows.
_SHAPES = {
  "as the sizes": ({}, [30, 17]),
  "shorter than a window": ({}, [3, 1]),
  "longer than many windows": ({"sliding_window_size": 6}, [200, 131, 64]),
  "a layer": ({"num_layers": 1}, [9]),
  "GELU in its tanh form": ({"activation": "gelu_pytorch_tanh"}, [20]),
  "other layers are global": ({"global_attn_every_n_layers": 2}, [40, 8]),
  "other bases": (
    {"global_rope_max_wavelength": 80000.0, "local_rope_max_wavelength": 500.0},
    [50],
  ),
  "the published window": (
    {"sliding_window_size": 128, "num_heads": 4, "layer_norm_epsilon": 1e-3},
    [300, 290],
  ),
}


@pytest.fixture(scope="module")
def theirs(tmp_path_factory, repository):
  """A folder with what transformers computes with the shapes, by number."""
  for name, title in (("torch", "PyTorch"), ("transformers", "transformers")):
    if not importlib.util.find_spec(name):
      pytest.skip(f"{title} is not installed")
  folder = tmp_path_factory.mktemp("modernbert")
  for i, (changes, lengths) in enumerate(_SHAPES.values()):
    (folder / f"{i}").mkdir()
    (folder / f"{i}/sizes.json").write_text(json.dumps(_SIZES | changes))
    np.savez(folder / f"{i}/inputs.npz", **_inputs(max(lengths), lengths))
  script = repository / "tests/scripts/transformers_modernbert.py"
  subprocess.run([sys.executable, script, folder], check=True)
  return folder


@pytest.mark.large
@pytest.mark.parametrize("name", _SHAPES)
def test_vectors_are_those_of_transformers(theirs, name):
  folder = theirs / f"{list(_SHAPES).index(name)}"
  backbone = load_huggingface(str(folder)).backbone
  sizes = _SIZES | _SHAPES[name][0]
  sizes.pop("activation", None)  # A function in the backbone.
  assert {key: getattr(backbone, key) for key in sizes} == sizes
  inputs = dict(np.load(folder / "inputs.npz"))
  expected = np.load(folder / "outputs.npy")[inputs["padding_mask"] == 1]
  found = _output(backbone, inputs)
  np.testing.assert_allclose(found, expected, atol=1e-4)
  assert expected.std() > 0.5


@pytest.mark.slow
@pytest.mark.usefixtures("few_samples")
def test_a_tflite_file_of_any_length_answers_as_the_model(tmp_path):
  # Windows of up to 96 tokens, with local layers of blocks of 4.
  extractor = extractor_of("modernbert")
  extractor.head_is_trained = True
  path = str(tmp_path / "model.tflite")
  extractor.export(path, "litert", dynamic_length=True)
  file = TFLiteSpanExtractor(path)
  # Texts with tokens of several blanks, and letters that NFC composes.
  composed = "e\u0301"
  passages = [f"The {composed * n} mill  was  in" for n in range(0, 90, 9)]
  for passage in passages:
    expected = extractor.answer(QUESTION, passage)
    found = file.answer(QUESTION, passage)
    assert found.text == passage[found.char_start : found.char_end]
    assert (found.text, found.char_start) == (
      expected.text,
      expected.char_start,
    )
    assert found.score == pytest.approx(expected.score, rel=1e-4)
