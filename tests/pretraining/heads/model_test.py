"""The model that is pre-trained."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from tiny_pretraining import SIZES, tiny_batch, tiny_model

from bert_span.modeling.encoder import build_encoder
from bert_span.pretraining.heads.loss import model_inputs
from bert_span.pretraining.heads.model import PretrainingModel
from bert_span.training.optimizer import is_decayed


def test_the_heads_read_the_encoders_vectors_of_segment_0():
  model, batch = tiny_model(), tiny_batch()
  sequence = model.backbone(
    {
      "token_ids": batch["input_ids"],
      "segment_ids": np.zeros_like(batch["input_ids"]),
      "padding_mask": batch["input_mask"],
    }
  )["sequence_output"]
  embeddings = model.backbone.token_embedding.embeddings
  logits = model(model_inputs(batch))
  assert tuple(logits["mlm_logits"].shape) == (3, 5, 23)
  np.testing.assert_allclose(
    logits["mlm_logits"],
    model.masked_lm_head(sequence, batch["masked_positions"], embeddings),
    atol=1e-5,
  )
  np.testing.assert_allclose(
    logits["sbo_logits"],
    model.span_boundary_head(
      sequence,
      batch["sbo_lefts"],
      batch["sbo_rights"],
      batch["sbo_positions"],
      embeddings,
    ),
    atol=1e-5,
  )


def test_the_output_matrix_is_the_word_embeddings():
  model, batch = tiny_model(), tiny_batch()
  shapes = [tuple(weight.shape) for weight in model.weights]
  assert shapes.count((23, 8)) == 1
  with tf.GradientTape() as tape:
    logits = model(model_inputs(batch))
    # Of a token that no input holds: only the output reaches its embedding.
    total = tf.reduce_sum(logits["sbo_logits"][..., 0])
  table = model.backbone.token_embedding.embeddings
  gradient = tf.convert_to_tensor(tape.gradient(total, table.value))
  assert np.abs(gradient[0]).max() > 0


def test_all_variables_exist_before_the_first_call():
  keras.utils.set_random_seed(0)
  model = PretrainingModel(build_encoder(SIZES))
  before = [variable.path for variable in model.variables]
  model(model_inputs(tiny_batch()))
  assert [variable.path for variable in model.variables] == before
  assert len(set(map(id, model.weights))) == len(model.weights)


def test_biases_and_layer_norms_are_spared_from_weight_decay():
  model = tiny_model()
  heads = [
    *model.masked_lm_head.weights,
    *model.span_boundary_head.weights,
  ]
  decayed = [tuple(w.shape) for w in heads if is_decayed(w.path)]
  assert decayed == [(8, 8), (20, 200), (216, 8), (8, 8)]


@pytest.mark.large
def test_heads_are_float32_under_mixed_precision():
  keras.utils.set_random_seed(0)
  model = PretrainingModel(build_encoder(SIZES, dtype="mixed_bfloat16"))
  logits = model(model_inputs(tiny_batch()))
  assert {value.dtype for value in logits.values()} == {tf.float32}
  assert model.backbone.compute_dtype == "bfloat16"


def test_it_is_rebuilt_from_its_configuration():
  model = tiny_model(span_boundary=False)
  copy = PretrainingModel.from_config(model.get_config())
  assert copy.span_boundary_head is model.span_boundary_head is None
  copy.set_weights(model.get_weights())
  inputs = model_inputs(tiny_batch())
  (logits,), (expected,) = copy(inputs).items(), model(inputs).items()
  assert logits[0] == expected[0] == "mlm_logits"
  np.testing.assert_array_equal(logits[1], expected[1])
