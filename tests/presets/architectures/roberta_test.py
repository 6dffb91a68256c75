"""RoBERTa: the names in its files, and from these to its exports."""

import numpy as np
import pytest

from bert_span.presets.huggingface_writer import config_values, encoder_tensors
from tests.support.architectures import (
  SIZES,
  check_files,
  check_names,
  check_training,
  check_transformers,
)
from tests.support.models import tiny_encoder

_NAMES = """
  roberta.embeddings.word_embeddings.weight
  roberta.embeddings.position_embeddings.weight
  roberta.embeddings.token_type_embeddings.weight
  roberta.embeddings.LayerNorm.*
  roberta.encoder.layer.0.attention.self.query.*
  roberta.encoder.layer.0.attention.self.key.*
  roberta.encoder.layer.0.attention.self.value.*
  roberta.encoder.layer.0.attention.output.dense.*
  roberta.encoder.layer.0.attention.output.LayerNorm.*
  roberta.encoder.layer.0.intermediate.dense.*
  roberta.encoder.layer.0.output.dense.*
  roberta.encoder.layer.0.output.LayerNorm.*
"""


def test_its_tensors_have_the_names_of_transformers():
  check_names("roberta", _NAMES)


def test_positions_begin_after_two_rows_of_padding():
  backbone = tiny_encoder(architecture="roberta")
  values = config_values(backbone)
  assert values["max_position_embeddings"] == backbone.max_sequence_length + 2
  assert (values["pad_token_id"], values["type_vocab_size"]) == (1, 1)
  tensors = encoder_tensors(backbone)
  table = tensors["roberta.embeddings.position_embeddings.weight"]
  own = backbone.embeddings.position_embedding.position_embeddings
  np.testing.assert_array_equal(table[2:], own)
  assert not table[:2].any()


def test_files_and_copies_compute_what_it_computes(tmp_path):
  check_files("roberta", tmp_path)


@pytest.mark.large
@pytest.mark.usefixtures("few_samples")
def test_it_is_trained_and_its_exports_answer_as_it_does(tmp_path):
  check_training("roberta", tmp_path, "float16", "none")


@pytest.mark.large
def test_transformers_computes_the_same(tmp_path):
  check_transformers(
    "roberta",
    tmp_path,
    {
      **SIZES,
      "type_vocab_size": 1,
      "layer_norm_eps": 1e-5,
      "pad_token_id": 1,
      "dtype": "float16",
    },
  )
