"""BERT: the names in its files, and from its files to its exports."""

import pytest

from tests.support.architectures import (
  SIZES,
  check_files,
  check_names,
  check_training,
  check_transformers,
)

_NAMES = """
  bert.embeddings.word_embeddings.weight
  bert.embeddings.position_embeddings.weight
  bert.embeddings.token_type_embeddings.weight
  bert.embeddings.LayerNorm.*
  bert.pooler.dense.*
  bert.encoder.layer.0.attention.self.query.*
  bert.encoder.layer.0.attention.self.key.*
  bert.encoder.layer.0.attention.self.value.*
  bert.encoder.layer.0.attention.output.dense.*
  bert.encoder.layer.0.attention.output.LayerNorm.*
  bert.encoder.layer.0.intermediate.dense.*
  bert.encoder.layer.0.output.dense.*
  bert.encoder.layer.0.output.LayerNorm.*
"""


def test_its_tensors_have_the_names_of_transformers():
  check_names("bert", _NAMES)


def test_files_and_copies_compute_what_it_computes(tmp_path):
  check_files("bert", tmp_path)


@pytest.mark.large
@pytest.mark.usefixtures("few_samples")
def test_it_is_trained_and_its_exports_answer_as_it_does(tmp_path):
  check_training("bert", tmp_path, "float32", "none", lora=True)


@pytest.mark.large
def test_transformers_computes_the_same(tmp_path):
  check_transformers(
    "bert",
    tmp_path,
    {**SIZES, "dtype": "float32"},
    {**SIZES, "hidden_act": "relu"},
    {**SIZES, "num_attention_heads": 4, "hidden_act": "gelu_new"},
  )
