"""The model that is pre-trained, and its heads, computed by hand in NumPy."""

import numpy as np
import pytest
import tensorflow as tf
from tiny_pretraining import SIZES, tiny_batch, tiny_model

from bert_span.modeling.encoder import build_encoder
from bert_span.pretraining.loss import model_inputs
from bert_span.pretraining.model import (
  MaskedLmHead,
  PretrainingModel,
  SpanBoundaryHead,
)
from bert_span.training.optimizer import is_decayed


def test_the_heads_read_the_encoders_vectors_of_segment_0():
  model, batch = tiny_model(), tiny_batch()
  ids, mask = batch["input_ids"], batch["input_mask"]
  inputs = {"token_ids": ids, "segment_ids": ids * 0, "padding_mask": mask}
  sequence = model.backbone(inputs)["sequence_output"]
  embeddings = model.backbone.token_embedding.embeddings
  logits = model(model_inputs(batch))
  assert tuple(logits["mlm_logits"].shape) == (3, 5, 23)
  mlm = model.masked_lm_head(sequence, batch["masked_positions"], embeddings)
  np.testing.assert_allclose(logits["mlm_logits"], mlm, atol=1e-5)
  places = (batch[f"sbo_{name}"] for name in ("lefts", "rights", "positions"))
  sbo = model.span_boundary_head(sequence, *places, embeddings)
  np.testing.assert_allclose(logits["sbo_logits"], sbo, atol=1e-5)


def test_biases_and_layer_norms_are_spared_from_weight_decay():
  model = tiny_model()
  heads = [*model.masked_lm_head.weights, *model.span_boundary_head.weights]
  decayed = [tuple(w.shape) for w in heads if is_decayed(w.path)]
  assert decayed == [(8, 8), (20, 200), (216, 8), (8, 8)]


def test_heads_are_float32_under_mixed_precision():
  model = PretrainingModel(build_encoder(SIZES, dtype="mixed_bfloat16"))
  logits = model(model_inputs(tiny_batch()))
  assert {value.dtype for value in logits.values()} == {tf.float32}
  assert model.backbone.compute_dtype == "bfloat16"
  with pytest.raises(ValueError, match=r"PretrainingModel.*'mixed_bfloat16'"):
    PretrainingModel(model.backbone, dtype="mixed_bfloat16")


def test_a_saved_model_of_masked_tokens_loads_and_one_of_questions_does_not():
  model, batch = tiny_model(), tiny_batch()
  # As bert_span 0.1.0 wrote it.
  config = {**model.get_config(), "objective": "masking"}
  copy = PretrainingModel.from_config(config)
  copy.set_weights(model.get_weights())
  logits, copied = (m(model_inputs(batch)) for m in (model, copy))
  for name, values in logits.items():
    np.testing.assert_array_equal(copied[name], values)
  with pytest.raises(ValueError, match=r"objective=rss.*bert_span 0\.1\.0"):
    PretrainingModel.from_config({**config, "objective": "rss"})


_HIDDEN = 6
_VOCAB = 11


def layer_norm(x, gamma, beta):
  mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
  return (x - mean) / np.sqrt(variance + 1e-12) * gamma + beta


def gelu(x):
  return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


@pytest.mark.parametrize("head_type", [MaskedLmHead, SpanBoundaryHead])
def test_a_head_equals_its_formula(head_type):
  head = head_type(_HIDDEN, _VOCAB)
  head.build((None, None, _HIDDEN))
  rng = np.random.default_rng(4)
  for weight in head.weights:
    weight.assign(rng.normal(0.0, 0.7, weight.shape))
  sequence = rng.normal(size=(2, 13, _HIDDEN)).astype("float32")
  embeddings = rng.normal(size=(_VOCAB, _HIDDEN)).astype("float32")
  # A span x5..x8 with the boundaries 4 and 9, and one x2..x2.
  lefts = np.array([[4, 4, 4, 4], [1, 0, 0, 0]], np.int32)
  rights = np.array([[9, 9, 9, 9], [3, 0, 0, 0]], np.int32)
  positions = np.array([[1, 2, 3, 4], [1, 0, 0, 0]], np.int32)
  rows = np.array([[0], [1]])
  # By the formula, in float64.
  if head_type is MaskedLmHead:
    logits = head(sequence, positions, embeddings)
    vectors, layers = sequence[rows, positions], [head.transform]
  else:
    logits = head(sequence, lefts, rights, positions, embeddings)
    p = np.float64(head.position_embeddings.numpy())[positions - 1]
    h0 = [sequence[rows, lefts], sequence[rows, rights], p]
    vectors = np.concatenate(h0, axis=-1)
    layers = [head.transform_1, head.transform_2]
  for layer in layers:
    kernel, bias, gamma, beta = map(np.float64, layer.get_weights())
    vectors = layer_norm(gelu(vectors @ kernel + bias), gamma, beta)
  expected = vectors @ embeddings.T + np.float64(head.output_layer.bias.numpy())
  is_target = positions > 0
  assert tuple(logits.shape) == (2, 4, _VOCAB)
  np.testing.assert_allclose(logits[is_target], expected[is_target], atol=1e-5)
