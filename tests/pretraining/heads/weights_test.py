"""Heads as files."""

import numpy as np
import pytest
from tiny_pretraining import tiny_model

from bert_span.pretraining.heads.weights import (
  HEADS_FILE,
  assign_heads,
  head_variables,
  huggingface_head_name,
  read_heads,
  save_heads,
)


def test_saved_heads_are_read_back(tmp_path):
  model, copy = tiny_model(seed=1), tiny_model(seed=2)
  save_heads(model, tmp_path)
  filled = assign_heads(copy, read_heads(str(tmp_path)), "there")
  assert filled == ["masked language model", "span boundary"]
  for name, variable in head_variables(model).items():
    np.testing.assert_array_equal(head_variables(copy)[name], variable)


def test_every_weight_of_the_heads_has_a_name():
  model = tiny_model()
  named = {id(variable) for variable in head_variables(model).values()}
  heads = [*model.masked_lm_head.weights, *model.span_boundary_head.weights]
  assert named == {id(weight) for weight in heads}


def test_a_head_that_is_not_stored_stays_new(tmp_path):
  save_heads(tiny_model(span_boundary=False), tmp_path)
  model = tiny_model(seed=2)
  before = model.span_boundary_head.position_embeddings.numpy()
  filled = assign_heads(model, read_heads(str(tmp_path)), "there")
  assert filled == ["masked language model"]
  after = model.span_boundary_head.position_embeddings.numpy()
  np.testing.assert_array_equal(after, before)
  assert assign_heads(model, {}, "there") == []


def test_a_head_of_another_size_or_with_holes_is_refused(tmp_path):
  model = tiny_model()
  save_heads(model, tmp_path)
  tensors = read_heads(str(tmp_path))
  wrong = {**tensors, "cls/predictions/output_bias": np.zeros(5, "float32")}
  with pytest.raises(ValueError, match=r"output_bias has shape \[5\]"):
    assign_heads(model, wrong, "there")
  del tensors["cls/span_boundary/transform_2/dense/bias"]
  with pytest.raises(ValueError, match=r"there: cls/span_boundary/"):
    assign_heads(model, tensors, "there")


def test_a_damaged_file_is_named(tmp_path):
  (tmp_path / HEADS_FILE).write_bytes(b"damaged")
  with pytest.raises(ValueError, match=HEADS_FILE):
    read_heads(str(tmp_path))


def test_names_of_hugging_face():
  names = {
    "cls/predictions/output_bias": "cls.predictions.bias",
    "cls/predictions/transform/dense/kernel": (
      "cls.predictions.transform.dense.weight"
    ),
    "cls/predictions/transform/LayerNorm/beta": (
      "cls.predictions.transform.LayerNorm.bias"
    ),
  }
  for name, stored in names.items():
    assert huggingface_head_name(name) == stored
