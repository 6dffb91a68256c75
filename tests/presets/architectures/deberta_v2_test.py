"""DeBERTa v3: the names in its files, and from these to its exports."""

import pytest

from tests.support.architectures import (
  SIZES,
  check_files,
  check_names,
  check_training,
  check_transformers,
)

_NAMES = """
  deberta.embeddings.word_embeddings.weight
  deberta.embeddings.LayerNorm.*
  deberta.encoder.rel_embeddings.weight
  deberta.encoder.LayerNorm.*
  deberta.encoder.layer.0.attention.self.query_proj.*
  deberta.encoder.layer.0.attention.self.key_proj.*
  deberta.encoder.layer.0.attention.self.value_proj.*
  deberta.encoder.layer.0.attention.output.dense.*
  deberta.encoder.layer.0.attention.output.LayerNorm.*
  deberta.encoder.layer.0.intermediate.dense.*
  deberta.encoder.layer.0.output.dense.*
  deberta.encoder.layer.0.output.LayerNorm.*
"""
_SIZES = {
  **SIZES,
  "relative_attention": True,
  "position_biased_input": False,
  "norm_rel_ebd": "layer_norm",
  "share_att_key": True,
  "pos_att_type": "p2c|c2p",
}


def test_its_tensors_have_the_names_of_transformers():
  check_names("deberta-v2", _NAMES)


def test_files_and_copies_compute_what_it_computes(tmp_path):
  check_files("deberta-v2", tmp_path)


@pytest.mark.large
@pytest.mark.usefixtures("few_samples")
def test_it_is_trained_and_its_exports_answer_as_it_does(tmp_path):
  check_training("deberta-v2", tmp_path, "bfloat16", "dynamic")


@pytest.mark.large
def test_transformers_computes_the_same(tmp_path):
  check_transformers(
    "deberta-v2",
    tmp_path,
    {**_SIZES, "position_buckets": 8, "dtype": "bfloat16"},
    # The buckets and positions of the published models.
    {**_SIZES, "position_buckets": 256, "max_position_embeddings": 512},
  )
