"""The operations that XLA compiles for the training of minilm_squad."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from benchmarks.minilm_squad import train
from bert_span import FineTuningOptions, fine_tune, read_squad
from tests.support.models import tiny_extractor


def _random(*shape, seed=0):
  return tf.constant(np.random.default_rng(seed).normal(0, 2, shape), "float32")


def _with_gradient(function, x):
  """Returns the output, and the gradient of its sum with random factors."""
  with tf.GradientTape() as tape:
    tape.watch(x)
    y = function(x)
  upstream = tf.cast(_random(*y.shape, seed=1), y.dtype)
  return y, tape.gradient(y, x, output_gradients=upstream)


def _assert_same(function, expected, x):
  for dtype, tolerance in (("float32", 1e-5), ("bfloat16", 0.04)):
    results = _with_gradient(function, tf.cast(x, dtype))
    references = _with_gradient(expected, x)
    for result, reference in zip(results, references, strict=True):
      assert result.dtype == dtype
      np.testing.assert_allclose(
        tf.cast(result, "float32"), reference, atol=tolerance, rtol=tolerance
      )


def _fuse(monkeypatch):
  for module, name in (
    (tf.nn, "gelu"),
    (tf.nn.experimental, "stateless_dropout"),
    (keras.layers.MultiHeadAttention, "_masked_softmax"),
  ):
    monkeypatch.setattr(module, name, getattr(module, name))  # Restored.
  train.fuse()


@pytest.mark.parametrize("approximate", [False, True])
def test_gelu_and_its_gradient_are_those_of_tensorflow(approximate):
  _assert_same(
    lambda x: train.gelu(x, approximate),
    lambda x: tf.nn.gelu(x, approximate),
    _random(4, 5, 64),
  )


@pytest.mark.parametrize("shape", [(3, 1, 7), (3, 1, 1, 7)])
def test_softmax_and_its_gradient_are_those_of_keras(shape):
  mask = np.ones(shape, np.int32)
  mask[1, ..., 4:] = 0
  reference = keras.layers.Softmax()
  _assert_same(
    lambda x: train.masked_softmax(None, x, mask),
    lambda x: reference(x, mask=mask.reshape(3, 1, 1, 7)),
    _random(3, 2, 7, 7),
  )


def test_dropout_drops_its_share_and_the_same_of_the_gradient():
  masks = []
  for seed in ((1, 2), (2, 2), (1, 3), (-5, 2**31 - 1)):
    y, gradient = _with_gradient(
      lambda x, seed=seed: train.dropout(x, 0.1, tf.constant(seed)),
      tf.ones((200, 500)),
    )
    np.testing.assert_allclose(np.unique(y), [0, 1 / 0.9], rtol=1e-6)
    np.testing.assert_array_equal(y.numpy() == 0, gradient.numpy() == 0)
    masks.append(y.numpy().ravel() == 0)
    assert np.mean(masks[-1]) == pytest.approx(0.1, abs=0.005)
  # Neither other seeds nor neighbours are correlated; one deviation is 0.003.
  shifted = [mask[:-1] for mask in masks] + [mask[1:] for mask in masks]
  correlations = np.corrcoef(shifted) - np.eye(len(shifted))
  assert np.abs(correlations).max() < 0.016


def test_layers_of_keras_use_them(monkeypatch):
  _fuse(monkeypatch)
  x = tf.ones((2, 100))
  for shape in (None, (2, 1)):
    layer = keras.layers.Dropout(0.5, noise_shape=shape, seed=3)
    of = tf.function(
      lambda x, layer=layer: layer(x, training=True),
      input_signature=[tf.TensorSpec((2, None))],
    )
    if shape:
      with pytest.raises(ValueError, match="noise_shape"):
        of(x)
    else:
      assert set(np.unique(of(x))) == {0, 2}


@pytest.mark.slow
def test_a_model_is_trained_as_without_them(
  squad_folder, monkeypatch, tmp_path
):
  questions = read_squad(squad_folder / "v1.json").examples
  options = FineTuningOptions(num_train_epochs=1.0, train_batch_size=2)

  def change_of_weights(name):
    extractor = tiny_extractor(dropout=0.0, attention_dropout=0.0)
    start = [weight.numpy() for weight in extractor.weights]
    fine_tune(extractor, questions, options, tmp_path / name)
    weights = [weight.numpy() for weight in extractor.weights]
    return np.concatenate(
      [(w - s).ravel() for w, s in zip(weights, start, strict=True)]
    )

  expected = change_of_weights("plain")
  _fuse(monkeypatch)
  change = change_of_weights("fused")
  difference = np.linalg.norm(change - expected)
  assert 0 < difference < 0.001 * np.linalg.norm(expected)
