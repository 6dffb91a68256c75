"""MobileBERT: the names in its files, and from these to its exports."""

import dataclasses

import pytest

from bert_span.presets.architectures.mobilebert import FILES
from tests.support.architectures import (
  SIZES,
  check_files,
  check_names,
  check_resuming,
  check_training,
  check_transformers,
)
from tests.support.models import MOBILEBERT, tiny_config

_NAMES = """
  mobilebert.embeddings.word_embeddings.weight
  mobilebert.embeddings.position_embeddings.weight
  mobilebert.embeddings.token_type_embeddings.weight
  mobilebert.embeddings.LayerNorm.*
  mobilebert.embeddings.embedding_transformation.*
  mobilebert.encoder.layer.0.attention.self.query.*
  mobilebert.encoder.layer.0.attention.self.key.*
  mobilebert.encoder.layer.0.attention.self.value.*
  mobilebert.encoder.layer.0.attention.output.dense.*
  mobilebert.encoder.layer.0.attention.output.LayerNorm.*
  mobilebert.encoder.layer.0.bottleneck.input.dense.*
  mobilebert.encoder.layer.0.bottleneck.input.LayerNorm.*
  mobilebert.encoder.layer.0.bottleneck.attention.dense.*
  mobilebert.encoder.layer.0.bottleneck.attention.LayerNorm.*
  mobilebert.encoder.layer.0.output.bottleneck.dense.*
  mobilebert.encoder.layer.0.output.bottleneck.LayerNorm.*
  mobilebert.encoder.layer.0.ffn.0.intermediate.dense.*
  mobilebert.encoder.layer.0.ffn.0.output.dense.*
  mobilebert.encoder.layer.0.ffn.0.output.LayerNorm.*
  mobilebert.encoder.layer.0.intermediate.dense.*
  mobilebert.encoder.layer.0.output.dense.*
  mobilebert.encoder.layer.0.output.LayerNorm.*
"""
# Its other settings are those of the released model.
_SIZES = {**SIZES, "embedding_size": 8, "intra_bottleneck_size": 12}


def test_its_tensors_have_the_names_of_transformers():
  check_names("mobilebert", _NAMES, **MOBILEBERT)


def test_what_transformers_does_not_compute_is_refused():
  config = tiny_config(architecture="mobilebert", **MOBILEBERT)
  FILES.check_transformers(config)
  for changes, message in (
    ({"key_query_shared_bottleneck": False}, "width of 12.*key_query_shared"),
    (
      {"normalization_type": "layer_norm", "outer_norm_epsilon": 1e-12},
      "layer_norm.* 1e-12",
    ),
  ):
    with pytest.raises(ValueError, match=message):
      FILES.check_transformers(dataclasses.replace(config, **changes))
    # Either of them makes it a model that transformers has.
    changes |= {"use_bottleneck_attention": True, "outer_norm_epsilon": 1e-5}
    FILES.check_transformers(dataclasses.replace(config, **changes))


def test_files_and_copies_compute_what_it_computes(tmp_path):
  check_files("mobilebert", tmp_path)


@pytest.mark.large
@pytest.mark.usefixtures("few_samples")
def test_it_is_trained_and_its_exports_answer_as_it_does(tmp_path):
  check_training("mobilebert", tmp_path, "float16", "float16")


@pytest.mark.large
def test_a_training_that_was_stopped_has_the_same_weights(tmp_path):
  check_resuming("mobilebert", tmp_path)


@pytest.mark.large
def test_transformers_computes_the_same(tmp_path):
  check_transformers(
    "mobilebert",
    tmp_path,
    {**_SIZES, "dtype": "float16"},
    {**_SIZES, "normalization_type": "layer_norm"},
    {
      **_SIZES,
      "use_bottleneck": False,
      "num_feedforward_networks": 1,
      "normalization_type": "layer_norm",
      "hidden_act": "gelu",
    },
    {
      **_SIZES,
      "use_bottleneck_attention": True,
      "key_query_shared_bottleneck": False,
      "num_feedforward_networks": 2,
      "trigram_input": False,
      "hidden_act": "relu6",
    },
  )
