"""XLM-R: RoBERTa's files with other tokens, from these to its exports."""

import pytest

from bert_span.presets.huggingface_writer import config_values, encoder_tensors
from tests.support.architectures import (
  SIZES,
  check_files,
  check_training,
  check_transformers,
)
from tests.support.models import tiny_encoder


def test_its_names_are_robertas_and_its_special_tokens_are_its_own():
  backbone, roberta = (
    tiny_encoder(architecture=name) for name in ("xlm-roberta", "roberta")
  )
  assert encoder_tensors(backbone).keys() == encoder_tensors(roberta).keys()
  values = config_values(backbone)
  assert values["model_type"] == "xlm-roberta"
  names = "bos_token_id", "pad_token_id", "eos_token_id"
  assert [values[name] for name in names] == [0, 1, 2]


def test_files_and_copies_compute_what_it_computes(tmp_path):
  check_files("xlm-roberta", tmp_path)


@pytest.mark.large
@pytest.mark.usefixtures("few_samples")
def test_it_is_trained_and_its_exports_answer_as_it_does(tmp_path):
  check_training("xlm-roberta", tmp_path, "bfloat16", "dynamic")


@pytest.mark.large
def test_transformers_computes_the_same(tmp_path):
  check_transformers(
    "xlm-roberta",
    tmp_path,
    {
      **SIZES,
      "type_vocab_size": 1,
      "layer_norm_eps": 1e-5,
      "pad_token_id": 1,
      "dtype": "bfloat16",
    },
  )
