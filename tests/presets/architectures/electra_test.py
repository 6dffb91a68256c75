"""ELECTRA: the names in its files, and from these to its exports."""

import pytest

from tests.support.architectures import (
  SIZES,
  check_files,
  check_names,
  check_training,
  check_transformers,
)

_NAMES = """
  electra.embeddings.word_embeddings.weight
  electra.embeddings.position_embeddings.weight
  electra.embeddings.token_type_embeddings.weight
  electra.embeddings.LayerNorm.*
  electra.embeddings_project.*
  electra.pooler.dense.*
  electra.encoder.layer.0.attention.self.query.*
  electra.encoder.layer.0.attention.self.key.*
  electra.encoder.layer.0.attention.self.value.*
  electra.encoder.layer.0.attention.output.dense.*
  electra.encoder.layer.0.attention.output.LayerNorm.*
  electra.encoder.layer.0.intermediate.dense.*
  electra.encoder.layer.0.output.dense.*
  electra.encoder.layer.0.output.LayerNorm.*
"""


def test_its_tensors_have_the_names_of_transformers():
  check_names("electra", _NAMES, embedding_dim=4)
  # Tables as wide as a token's vector are not projected.
  names = _NAMES.replace("electra.embeddings_project.*", "")
  check_names("electra", names, embedding_dim=8)


def test_files_and_copies_compute_what_it_computes(tmp_path):
  check_files("electra", tmp_path)


@pytest.mark.large
@pytest.mark.usefixtures("few_samples")
def test_it_is_trained_and_its_exports_answer_as_it_does(tmp_path):
  check_training("electra", tmp_path, "bfloat16", "none")


@pytest.mark.large
def test_transformers_computes_the_same(tmp_path):
  check_transformers(
    "electra",
    tmp_path,
    {**SIZES, "embedding_size": 8, "dtype": "bfloat16"},
    {**SIZES, "embedding_size": 16},
  )
