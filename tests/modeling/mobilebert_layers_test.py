"""MobileBERT's layer and its normalization, by hand."""

import numpy as np

from bert_span.modeling.mobilebert_layers import MobileBertLayer, NoNorm


def test_no_norm_scales_and_shifts():
  layer = NoNorm()
  layer.build((None, 2))
  layer.gamma.assign([2, 3])
  layer.beta.assign([1, -1])
  assert layer(np.array([[5.0, 7.0]])).numpy().tolist() == [[11, 20]]


def test_a_layer_narrows_its_inputs_and_widens_its_outputs():
  layer = MobileBertLayer(1, 2, 1, intra_bottleneck_size=1)
  inputs = np.array([[[3.0, 5.0]]])
  layer(inputs)
  kernels = {
    "input_bottleneck_dense": [[1], [1]],  # 3 + 5 = 8
    "feedforward_0_intermediate_dense": [[1]],
    "feedforward_0_output_dense": [[0.5]],  # relu(8) / 2 + 8 = 12
    "feedforward_1_intermediate_dense": [[-1]],  # relu(-12) + 12 = 12
    "feedforward_1_output_dense": [[1]],
    "output_bottleneck_dense": [[1, 2]],  # [3, 5] + [12, 24]
  }
  for weight in layer.weights:
    if weight.name == "kernel":  # Those of attention are 0.
      (name,) = [n for n in kernels if f"{n}/" in weight.path] or [None]
      weight.assign(kernels.get(name, 0 * weight))
  np.testing.assert_allclose(layer(inputs), [[[15, 29]]])


def test_a_layer_is_made_again_from_its_config():
  changes = {
    "num_feedforward_networks": 2,
    "normalization_type": "layer_norm",
    "outer_norm_epsilon": 0.5,
    "use_bottleneck": False,
    "dropout": 0.25,
  }
  config = MobileBertLayer(2, 8, 4, **changes).get_config()
  assert changes.items() <= config.items()
  assert MobileBertLayer.from_config(config).get_config() == config
