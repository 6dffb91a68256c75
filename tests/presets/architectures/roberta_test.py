"""RoBERTa and those with its files: their positions and special tokens."""

import numpy as np
import pytest

from bert_span.presets.huggingface_writer import config_values, encoder_tensors
from tests.support.models import tiny_encoder


def test_positions_begin_after_two_rows_of_padding():
  backbone = tiny_encoder(architecture="roberta")
  values = config_values(backbone)
  assert values["max_position_embeddings"] == backbone.max_sequence_length + 2
  assert (values["pad_token_id"], values["type_vocab_size"]) == (1, 1)
  tensors = encoder_tensors(backbone)
  table = tensors["roberta.embeddings.position_embeddings.weight"]
  own = backbone.embeddings.position_embedding.position_embeddings
  assert table.shape == (6 + 2, 8) and own.numpy().any()
  np.testing.assert_array_equal(table[2:], own)
  assert not table[:2].any()
  types = tensors["roberta.embeddings.token_type_embeddings.weight"]
  assert types.tolist() == [[0.0] * 8]


@pytest.mark.parametrize(
  ("name", "ids"), [("xlm-roberta", [0, 1, 2]), ("camembert", [5, 1, 6])]
)
def test_special_tokens_are_its_own(name, ids):
  values = config_values(tiny_encoder(architecture=name))
  assert values["model_type"] == name
  names = "bos_token_id", "pad_token_id", "eos_token_id"
  assert [values[each] for each in names] == ids
