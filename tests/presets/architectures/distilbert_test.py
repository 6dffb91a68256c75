"""DistilBERT: the names in its files, and from these to its exports."""

import pytest

from bert_span.presets.huggingface import huggingface_config
from tests.support.architectures import (
  check_files,
  check_names,
  check_training,
  check_transformers,
)

_NAMES = """
  distilbert.embeddings.word_embeddings.weight
  distilbert.embeddings.position_embeddings.weight
  distilbert.embeddings.LayerNorm.*
  distilbert.transformer.layer.0.attention.q_lin.*
  distilbert.transformer.layer.0.attention.k_lin.*
  distilbert.transformer.layer.0.attention.v_lin.*
  distilbert.transformer.layer.0.attention.out_lin.*
  distilbert.transformer.layer.0.sa_layer_norm.*
  distilbert.transformer.layer.0.ffn.lin1.*
  distilbert.transformer.layer.0.ffn.lin2.*
  distilbert.transformer.layer.0.output_layer_norm.*
"""
_SIZES = {"vocab_size": 60, "n_layers": 2, "n_heads": 2}
# The keys of BERT's sizes have other meanings here.
_SIZES |= {"dim": 16, "hidden_dim": 24}


def test_its_tensors_have_the_names_of_transformers():
  check_names("distilbert", _NAMES)


def test_its_keys_are_those_of_its_own_config():
  values = {"model_type": "distilbert", **_SIZES}
  config = huggingface_config(values, "config.json")
  assert (config.num_layers, config.num_heads) == (2, 2)
  assert (config.hidden_dim, config.intermediate_dim) == (16, 24)


def test_files_and_copies_compute_what_it_computes(tmp_path):
  check_files("distilbert", tmp_path)


@pytest.mark.large
@pytest.mark.usefixtures("few_samples")
def test_it_is_trained_and_its_exports_answer_as_it_does(tmp_path):
  check_training("distilbert", tmp_path, "float16", "dynamic")


@pytest.mark.large
def test_transformers_computes_the_same(tmp_path):
  check_transformers(
    "distilbert",
    tmp_path,
    {**_SIZES, "max_position_embeddings": 34, "dtype": "float16"},
  )
