"""The B/I/O head and the model it makes with an encoder."""

import numpy as np
import pytest

from bert_span.data.bio_labels import TAGS
from bert_span.modeling import encoder
from bert_span.modeling.bio_head import BioHead
from bert_span.modeling.encoder_config import EncoderConfig
from bert_span.modeling.span_model import SpanModel, assign_head

_SIZES = {
  "vocabulary_size": 11,
  "num_layers": 1,
  "num_heads": 2,
  "intermediate_dim": 16,
  "max_sequence_length": 6,
  "num_segments": 2,
}


def _model(hidden_dim=8):
  config = EncoderConfig(**_SIZES, hidden_dim=hidden_dim)
  return SpanModel(encoder.build_encoder(config), BioHead())


def _inputs():
  token_ids = np.array([[1, 2, 3, 4, 0, 0], [5, 6, 7, 8, 9, 10]], "int32")
  return {
    "token_ids": token_ids,
    "segment_ids": np.array([[0, 0, 1, 1, 0, 0], [0, 0, 0, 1, 1, 1]], "int32"),
    "padding_mask": (token_ids > 0).astype("int32"),
  }


def test_tags_are_begin_inside_outside():
  assert TAGS == ("B", "I", "O")


def test_logits_are_w_times_the_vector_plus_b():
  head = BioHead()
  head.build((None, None, 2))
  head.kernel.assign([[1, 0], [0, 1], [1, 1]])
  head.bias.assign([0, 10, 100])
  logits = head(np.array([[[2.0, 3.0], [0.0, -1.0]]], "float32"))
  np.testing.assert_array_equal(logits, [[[2, 13, 105], [0, 9, 99]]])


def test_w_is_3_by_128_for_a_hidden_size_of_128():
  model = _model(hidden_dim=128)
  assert tuple(model.head.kernel.shape) == (3, 128)
  assert tuple(model.head.bias.shape) == (3,)
  np.testing.assert_array_equal(model.head.bias, [0, 0, 0])
  assert 0.01 < np.std(model.head.kernel) < 0.03


def test_model_gives_three_logits_a_position():
  logits = _model()(_inputs())["tag_logits"]
  assert logits.shape == (2, 6, 3)
  assert logits.dtype == "float32"


def test_head_stays_float32_under_mixed_precision():
  config = EncoderConfig(**_SIZES, hidden_dim=8)
  model = SpanModel(encoder.build_encoder(config, "mixed_bfloat16"), BioHead())
  assert model.backbone(_inputs())["sequence_output"].dtype == "bfloat16"
  assert model(_inputs())["tag_logits"].dtype == "float32"


def test_model_is_rebuilt_from_its_config():
  model = _model()
  copy = SpanModel.from_config(model.get_config())
  copy.set_weights(model.get_weights())
  np.testing.assert_array_equal(
    copy(_inputs())["tag_logits"], model(_inputs())["tag_logits"]
  )


def test_trained_head_is_assigned_and_another_width_refused():
  model = _model()
  kernel = np.arange(24, dtype="float32").reshape(3, 8)
  bias = np.array([1, 2, 3], "float32")
  assign_head(model, {"kernel": kernel, "bias": bias})
  np.testing.assert_array_equal(model.head.kernel, kernel)
  np.testing.assert_array_equal(model.head.bias, bias)
  with pytest.raises(ValueError, match=r"shape \[3, 4\].*needs \[3, 8\]"):
    assign_head(model, {"kernel": kernel[:, :4], "bias": bias})
  with pytest.raises(ValueError, match='tag_head lacks the tensor "bias"'):
    assign_head(model, {"kernel": kernel})
