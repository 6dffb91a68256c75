"""ALBERT: the names in its files, and from these to its exports."""

import pytest

from tests.support.architectures import (
  SIZES,
  check_files,
  check_names,
  check_training,
  check_transformers,
)

_NAMES = """
  albert.embeddings.word_embeddings.weight
  albert.embeddings.position_embeddings.weight
  albert.embeddings.token_type_embeddings.weight
  albert.embeddings.LayerNorm.*
  albert.encoder.embedding_hidden_mapping_in.*
  albert.pooler.*
  albert.encoder.albert_layer_groups.0.albert_layers.0.attention.query.*
  albert.encoder.albert_layer_groups.0.albert_layers.0.attention.key.*
  albert.encoder.albert_layer_groups.0.albert_layers.0.attention.value.*
  albert.encoder.albert_layer_groups.0.albert_layers.0.attention.dense.*
  albert.encoder.albert_layer_groups.0.albert_layers.0.attention.LayerNorm.*
  albert.encoder.albert_layer_groups.0.albert_layers.0.ffn.*
  albert.encoder.albert_layer_groups.0.albert_layers.0.ffn_output.*
  albert.encoder.albert_layer_groups.0.albert_layers.0.full_layer_layer_norm.*
"""


def test_its_tensors_have_the_names_of_transformers():
  check_names("albert", _NAMES, num_layers=3)
  # Two groups of three layers.
  sizes = {"num_layers": 2, "num_groups": 2, "num_inner_repetitions": 3}
  layer = "encoder.albert_layer_groups.{}.albert_layers.{}."
  first, *others = [
    _NAMES.replace(layer.format(0, 0), layer.format(i, j))
    for i in range(2)
    for j in range(3)
  ]
  check_names("albert", " ".join([first, *others]), **sizes)


def test_files_and_copies_compute_what_it_computes(tmp_path):
  check_files("albert", tmp_path)


@pytest.mark.large
@pytest.mark.usefixtures("few_samples")
def test_it_is_trained_and_its_exports_answer_as_it_does(tmp_path):
  check_training("albert", tmp_path, "bfloat16", "dynamic")


@pytest.mark.large
def test_transformers_computes_the_same(tmp_path):
  check_transformers(
    "albert",
    tmp_path,
    {**SIZES, "embedding_size": 8, "dtype": "bfloat16"},
    {
      **SIZES,
      "num_hidden_groups": 2,
      "inner_group_num": 2,
      "embedding_size": 16,
      "hidden_act": "gelu",
    },
  )
