"""Private names of Keras and KerasHub, by what their public ones say."""

import keras
import keras_hub
import numpy as np
import pytest

from bert_span.modeling import keras_internals
from tests.support.models import INPUTS, shared_extractor, tiny_encoder


def test_sublayers_are_those_at_any_depth_and_the_layer():
  inner = keras.Sequential([keras.layers.Dense(1), keras.layers.ReLU()])
  outer = keras.Sequential([inner, keras.layers.Dense(2)])
  dense = keras_internals.sublayers(outer, keras.layers.Dense)
  assert {layer.name for layer in dense} == {
    *(inner.layers[0].name, outer.layers[1].name)
  }
  assert {outer, inner} <= {*keras_internals.sublayers(outer)}


class _Asking(keras.layers.Layer):
  """Notes whether it is in training."""

  def call(self, inputs, training=None):
    self.seen = keras_internals.is_training(self)
    return inputs


@pytest.mark.parametrize("training", [False, True])
def test_a_layer_knows_whether_it_is_in_training(training):
  layer = _Asking()
  layer(np.ones([1, 1]), training=training)
  assert layer.seen is training


def test_sublayers_are_called_as_in_training():
  outer = keras.Sequential([keras.layers.Dropout(0.5)])
  (dropout,) = outer.layers
  ones = np.ones([1, 1000])
  with keras_internals.training_calls(outer):
    assert np.any(dropout(ones) == 0)
  assert np.all(dropout(ones) == 1)


def test_lora_adds_a_scaled_product_to_dense_layers_and_tables():
  dense, table = keras.layers.Dense(3), keras.layers.Embedding(5, 3)
  model = keras.Sequential([table, dense])
  model(np.array([[1, 4]]))
  before = [table.embeddings.numpy(), dense.kernel.numpy()]
  for layer in (table, dense):
    layer.enable_lora(2, lora_alpha=6)
  for weight in model.weights:
    weight.assign(keras.random.normal(weight.shape, seed=1))
  products = keras_internals.lora_products(model)
  assert [weight.shape for weight, *_ in products] == [x.shape for x in before]
  for layer, (weight, scale, a, b) in zip(
    (table, dense), products, strict=True
  ):
    assert scale == 6 / 2
    merged = layer.embeddings if layer is table else layer.kernel
    np.testing.assert_allclose(
      merged, weight + scale * keras.ops.matmul(a, b), rtol=1e-6
    )


def test_a_variable_gets_its_value_later_or_its_initial_one():
  with keras_internals.without_values():
    dense = keras.layers.Dense(2, bias_initializer="ones")
    dense.build([None, 3])
  kernel = np.arange(6.0).reshape(3, 2)
  keras_internals.set_value(dense.kernel, kernel)
  keras_internals.set_value(dense.bias)
  np.testing.assert_array_equal(dense.kernel, kernel)
  np.testing.assert_array_equal(dense.bias, [1, 1])
  # Layers that are made afterwards have values at once.
  after = keras.layers.Dense(1)
  after.build([None, 1])
  assert after.bias.numpy() == [0]


def test_contents_are_those_of_keras_files(tmp_path):
  model = keras.Sequential([keras.Input([2]), keras.layers.Dense(3)])
  weights = tmp_path / "model.weights.h5"
  weights.write_bytes(keras_internals.weights_content(model))
  copy = keras.models.clone_model(model)
  copy.load_weights(str(weights))
  (tmp_path / "model.keras").write_bytes(keras_internals.keras_content(model))
  loaded = keras.saving.load_model(tmp_path / "model.keras")
  model.save(tmp_path / "saved.keras")
  content = (tmp_path / "saved.keras").read_bytes()
  again = keras_internals.load_keras_content(content, {})
  for other in (copy, loaded, again):
    for weight, expected in zip(other.weights, model.weights, strict=True):
      np.testing.assert_array_equal(weight, expected)


def test_task_weights_are_those_of_the_head_alone(tmp_path):
  extractor = shared_extractor()
  path = tmp_path / "task.weights.h5"
  path.write_bytes(keras_internals.task_weights_content(extractor))
  copy = type(extractor)(extractor.backbone, extractor.preprocessor)
  copy.load_task_weights(str(path))
  np.testing.assert_array_equal(copy.head.kernel, extractor.head.kernel)


def test_the_config_of_a_preset_is_kerashubs(tmp_path):
  backbone = tiny_encoder()
  keras_internals.write_preset_config(backbone, str(tmp_path))
  found = keras_hub.models.Backbone.from_preset(
    str(tmp_path), load_weights=False
  )
  assert found.get_config() == backbone.get_config()
  assert found(INPUTS)["sequence_output"].shape == (2, 6, 8)
  config = keras_internals.preset_file(str(tmp_path), "config.json")
  assert config == str(tmp_path / "config.json")
  assert keras_internals.preset_file(str(tmp_path), "nothing.json") is None
