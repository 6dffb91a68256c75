"""The span head and the model it makes with an encoder."""

import keras
import numpy as np
import pytest

from bert_span.modeling import encoder
from bert_span.modeling.encoder_config import EncoderConfig
from bert_span.modeling.span_head import SpanHead
from bert_span.modeling.span_model import SpanModel, assign_head

_CONFIG = EncoderConfig(
  vocabulary_size=11,
  num_layers=1,
  num_heads=2,
  hidden_dim=8,
  intermediate_dim=16,
  max_sequence_length=6,
  num_segments=2,
)


def _inputs():
  token_ids = np.array([[1, 2, 3, 4, 0, 0], [5, 6, 7, 8, 9, 10]], "int32")
  return {
    "token_ids": token_ids,
    "segment_ids": np.array([[0, 0, 1, 1, 0, 0], [0, 0, 0, 1, 1, 1]], "int32"),
    "padding_mask": (token_ids > 0).astype("int32"),
  }


def test_logits_are_products_with_the_start_and_the_end_vector():
  head = SpanHead()
  head.build((None, None, 3))
  head.kernel.assign([[1.0, 0.0], [2.0, 0.0], [0.0, 5.0]])
  head.bias.assign([10.0, 20.0])
  start, end = head(np.array([[[1.0, 1.0, 1.0], [0.0, 2.0, -1.0]]]))
  np.testing.assert_allclose(start, [[13.0, 14.0]])
  np.testing.assert_allclose(end, [[25.0, 15.0]])


def test_head_without_bias_has_one_weight():
  head = SpanHead(use_bias=False)
  start, end = head(np.zeros((2, 4, 3), "float32"))
  assert [weight.path for weight in head.weights] == ["span_head/kernel"]
  np.testing.assert_array_equal(start, np.zeros((2, 4)))
  np.testing.assert_array_equal(end, np.zeros((2, 4)))


def test_new_head_is_a_truncated_normal_of_deviation_002_and_zero_bias():
  keras.utils.set_random_seed(7)
  head = SpanHead()
  head.build((None, None, 5000))
  kernel = head.kernel.numpy()
  # Cut at two deviations, 0.02 draws have a deviation of 0.0176.
  assert 0.0170 < kernel.std() < 0.0182
  assert 0.039 < np.abs(kernel).max() <= 0.0400001
  np.testing.assert_array_equal(head.bias, [0.0, 0.0])


def test_model_gives_float32_logits_for_every_position():
  model = SpanModel(encoder.build_encoder(_CONFIG), SpanHead())
  logits = model(_inputs())
  assert sorted(logits) == ["end_logits", "start_logits"]
  for value in logits.values():
    assert tuple(value.shape) == (2, 6)
    assert value.dtype == "float32"


def test_padding_does_not_change_the_logits_of_real_wordpieces():
  model = SpanModel(encoder.build_encoder(_CONFIG), SpanHead())
  short = {name: value[:1, :4] for name, value in _inputs().items()}
  padded = {name: value[:1] for name, value in _inputs().items()}
  np.testing.assert_allclose(
    model(padded)["start_logits"][:, :4],
    model(short)["start_logits"],
    atol=1e-5,
  )


def test_head_stays_float32_when_the_encoder_is_bfloat16():
  backbone = encoder.build_encoder(_CONFIG, dtype="mixed_bfloat16")
  model = SpanModel(backbone, SpanHead())
  assert backbone(_inputs())["sequence_output"].dtype == "bfloat16"
  assert model(_inputs())["end_logits"].dtype == "float32"
  assert model.head.compute_dtype == "float32"


def test_all_variables_exist_as_soon_as_the_model_does():
  model = SpanModel(encoder.build_encoder(_CONFIG), SpanHead())
  paths = [variable.path for variable in model.trainable_variables]
  assert paths[-2:] == ["span_head/kernel", "span_head/bias"]
  assert len(paths) == len(set(paths)) == 5 + 16 + 2 + 2
  keras.optimizers.Adam().build(model.trainable_variables)


def test_model_is_rebuilt_from_its_config():
  model = SpanModel(encoder.build_encoder(_CONFIG), SpanHead(use_bias=False))
  copy = SpanModel.from_config(model.get_config())
  copy.set_weights(model.get_weights())
  assert not copy.head.use_bias
  np.testing.assert_array_equal(
    copy(_inputs())["start_logits"], model(_inputs())["start_logits"]
  )


def test_trained_head_is_assigned():
  model = SpanModel(encoder.build_encoder(_CONFIG), SpanHead())
  kernel = np.arange(16, dtype="float32").reshape(8, 2)
  bias = np.array([1.0, 2.0], "float32")
  assign_head(model, {"kernel": kernel, "bias": bias})
  np.testing.assert_array_equal(model.head.kernel, kernel)
  np.testing.assert_array_equal(model.head.bias, [1.0, 2.0])
  assign_head(model, {"kernel": kernel})
  np.testing.assert_array_equal(model.head.bias, [0.0, 0.0])


def test_trained_head_of_another_width_is_refused():
  model = SpanModel(encoder.build_encoder(_CONFIG), SpanHead())
  with pytest.raises(ValueError, match=r"shape \[4, 2\].*needs \[8, 2\]"):
    assign_head(model, {"kernel": np.zeros((4, 2), "float32")})


def test_trained_bias_is_not_dropped_silently():
  model = SpanModel(encoder.build_encoder(_CONFIG), SpanHead(use_bias=False))
  with pytest.raises(ValueError, match="span_head_bias=true"):
    assign_head(model, {"kernel": np.zeros((8, 2)), "bias": np.zeros(2)})
