"""The updates of the optimizer."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_span import BertAdamW
from bert_span.training.optimizer import is_decayed, layer_rates


def make_variable(path, value):
  scope, name = path.split("/")
  with keras.name_scope(scope):
    return keras.Variable(np.asarray(value, "float32"), name=name)


def test_first_two_updates_follow_the_formula_by_hand():
  kernel = make_variable("dense/kernel", [2.0])
  optimizer = BertAdamW(0.1, epsilon=0.5)
  optimizer.apply([tf.constant([4.0])], [kernel])
  # m = 0.1 * 4, v = 0.001 * 16, decay 0.01 * 2.
  m, v = 0.4, 0.016
  expected = 2.0 - 0.1 * (m / (v**0.5 + 0.5) + 0.01 * 2.0)
  np.testing.assert_allclose(kernel.numpy(), [expected], rtol=1e-6)
  optimizer.apply([tf.constant([-1.0])], [kernel])
  m, v = 0.9 * m - 0.1, 0.999 * v + 0.001
  expected -= 0.1 * (m / (v**0.5 + 0.5) + 0.01 * expected)
  np.testing.assert_allclose(kernel.numpy(), [expected], rtol=1e-6)


def test_bias_correction_equals_adamw_of_keras():
  ours = make_variable("dense/kernel", [2.0, -1.0])
  theirs = make_variable("dense/kernel", [2.0, -1.0])
  optimizer = BertAdamW(0.1, bias_correction=True)
  reference = keras.optimizers.AdamW(0.1, weight_decay=0.01, epsilon=1e-6)
  for gradient in ([0.5, 1.0], [-2.0, 0.25], [0.0, 3.0]):
    optimizer.apply([tf.constant(gradient)], [ours])
    reference.apply([tf.constant(gradient)], [theirs])
  # The fused kernel rounds 1 - beta differently.
  np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5)


def test_slots_have_the_order_and_names_of_keras_adam():
  """Checkpoints hold them by their place."""
  variables = [make_variable(p, [1.0]) for p in ("dense/kernel", "dense/bias")]
  ours = BertAdamW(0.1, name="adam")
  reference = keras.optimizers.AdamW(0.1, name="adam")
  for optimizer in (ours, reference):
    optimizer.build(variables)
  paths = [variable.path for variable in ours.variables]
  assert paths == [variable.path for variable in reference.variables]
  assert len(paths) == 6  # iteration, learning rate, m and v of each


def test_layer_norm_and_bias_are_not_decayed():
  layer = "transformer_layer_0/self_attention_layer"
  for path in ("token_embedding/embeddings", f"{layer}/query/kernel", "gamma"):
    assert is_decayed(path)
  for path in (
    f"{layer}/query/bias",
    f"{layer}_norm/gamma",
    "embeddings_layer_norm/beta",
    "bert/embeddings/LayerNorm/gamma",
  ):
    assert not is_decayed(path)


def test_layer_decay_lowers_the_rate_and_weight_decay_layer_by_layer():
  paths = [
    "token_embedding/embeddings",
    "embeddings_layer_norm/gamma",
    "transformer_layer_0/kernel",
    "transformer_layer_1/kernel",
    "span_head/kernel",
  ]
  assert layer_rates(paths, 0.5) == [0.125, 0.125, 0.25, 0.5, 1.0]
  name = "disentangled_attention_encoder_layer"  # DeBERTa's
  others = [path.replace("transformer_layer", name) for path in paths]
  others[1] = "rel_embedding/rel_embedding"
  assert layer_rates(others, 0.5) == [0.125, 0.125, 0.25, 0.5, 1.0]
  # Layers of an ALBERT with the same weights are one layer.
  others = [
    *("token_embedding/embeddings", "embedding_projection/kernel"),
    *("group_0_inner_layer_1/kernel", "group_1_inner_layer_0/kernel"),
    *("group_1_inner_layer_1/kernel", "span_head/kernel"),
  ]
  rates = [0.5**5, 0.5**5, 0.125, 0.25, 0.5, 1.0]
  assert layer_rates(others, 0.5) == rates
  optimizer = BertAdamW(0.5, layer_decay=0.5)
  variables = [make_variable(path, [1.0]) for path in paths]
  optimizer.apply([tf.zeros([1])] * 5, variables)
  # Weight decay 0.01 at the rate of the layer, none for LayerNorm.
  expected = [1 - 0.005 * rate for rate in (0.125, 0, 0.25, 0.5, 1)]
  np.testing.assert_allclose(np.ravel(variables), expected, rtol=1e-6)


def test_no_weight_decay_is_none_or_0_and_remains_so_in_a_copy():
  for decay in (None, 0.0):
    config = BertAdamW(0.5, weight_decay=decay).get_config()
    assert (config["weight_decay"], config["amsgrad"]) == (0.0, False)
    kernel = make_variable("dense/kernel", [2.0])
    BertAdamW.from_config(config).apply([tf.zeros([1])], [kernel])
    assert kernel.numpy() == [2.0]


def test_an_argument_out_of_range_is_named():
  for name, value in (
    *(("weight_decay", -0.1), ("beta_1", 1.0), ("beta_2", 1.5)),
    *(("epsilon", 0.0), ("layer_decay", 0.0)),
  ):
    with pytest.raises(ValueError, match=f"{name}={value}"):
      BertAdamW(0.1, **{name: value})
  with pytest.raises(ValueError, match="amsgrad=True"):
    BertAdamW(0.1, amsgrad=True)
