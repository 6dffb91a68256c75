"""The model that is pre-trained, and its heads, computed by hand in NumPy."""

import numpy as np
import pytest
import tensorflow as tf

from bert_span.modeling.encoder import build_encoder
from bert_span.pretraining.loss import OBJECTIVES, pretraining_inputs
from bert_span.pretraining.model import PretrainingModel
from bert_span.training.optimizer import is_decayed
from tests.support.training import SIZES, tiny_batch, tiny_model


def layer_norm(x, gamma, beta):
  mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
  return (x - mean) / np.sqrt(variance + 1e-12) * gamma + beta


def gelu(x):
  return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def test_logits_equal_their_formulas_of_the_encoders_vectors_of_segment_0():
  """In float64."""
  model, batch = tiny_model(), tiny_batch()
  mlm, sbo = model.masked_lm_head, model.span_boundary_head
  ids, mask = batch["input_ids"], batch["input_mask"]
  inputs = {"token_ids": ids, "segment_ids": ids * 0, "padding_mask": mask}
  x = np.float64(model.backbone(inputs)["sequence_output"])
  embeddings = np.float64(model.backbone.token_embedding.embeddings)
  rows = np.arange(3)[:, np.newaxis]
  p = np.float64(sbo.position_embeddings)[batch["sbo_positions"] - 1]
  h0 = [x[rows, batch["sbo_lefts"]], x[rows, batch["sbo_rights"]], p]
  layers = {"mlm": [mlm.transform], "sbo": [sbo.transform_1, sbo.transform_2]}
  vectors = {
    "mlm": x[rows, batch["masked_positions"]],
    "sbo": np.concatenate(h0, axis=-1),
  }
  logits = model(pretraining_inputs(batch))
  for (name, key), head in zip(OBJECTIVES.items(), (mlm, sbo), strict=True):
    y = vectors[name]
    for layer in layers[name]:
      kernel, bias, gamma, beta = map(np.float64, layer.get_weights())
      y = layer_norm(gelu(y @ kernel + bias), gamma, beta)
    expected = y @ embeddings.T + np.float64(head.output_layer.bias)
    found = logits[f"{name}_logits"]
    assert tuple(found.shape) == (3, 5, 23)
    is_target = batch[key] > 0
    np.testing.assert_allclose(found[is_target], expected[is_target], atol=1e-4)


def test_biases_and_layer_norms_are_spared_from_weight_decay():
  model = tiny_model()
  heads = [*model.masked_lm_head.weights, *model.span_boundary_head.weights]
  decayed = [tuple(w.shape) for w in heads if is_decayed(w.path)]
  assert decayed == [(8, 8), (20, 200), (216, 8), (8, 8)]


def test_heads_are_float32_under_mixed_precision():
  model = PretrainingModel(build_encoder(SIZES, dtype="mixed_bfloat16"))
  logits = model(pretraining_inputs(tiny_batch()))
  assert {value.dtype for value in logits.values()} == {tf.float32}
  assert model.backbone.compute_dtype == "bfloat16"
  with pytest.raises(ValueError, match=r"PretrainingModel.*'mixed_bfloat16'"):
    PretrainingModel(model.backbone, dtype="mixed_bfloat16")


def test_a_copy_by_its_config_computes_the_same():
  model, batch = tiny_model(), tiny_batch()
  copy = PretrainingModel.from_config(model.get_config())
  copy.set_weights(model.get_weights())
  logits, copied = (m(pretraining_inputs(batch)) for m in (model, copy))
  for name, values in logits.items():
    np.testing.assert_array_equal(copied[name], values)
