"""Keras files with the package's classes, loaded without custom_objects."""

import keras
import numpy as np
import pytest

import bert_span
from bert_span import (
  BioDecoderOptions,
  DecoderOptions,
  PretrainingModel,
  WindowOptions,
)
from bert_span.modeling.architectures import ARCHITECTURES
from bert_span.modeling.encoder import build_encoder, encoder_config
from tests.support.models import (
  INPUTS,
  VOCABULARY,
  shared_extractor,
  tiny_config,
)

_WINDOWS = {"options": WindowOptions(32, 8, 8), "pad_to_max": True}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_what_kerashub_does_not_keep_survives(tmp_path, architecture):
  changes = {"activation": "relu", "layer_norm_epsilon": 1e-3}
  config = tiny_config(
    architecture=architecture, attention_dropout=0.3, **changes
  )
  model = bert_span.SpanExtractor(build_encoder(config))
  model.save(tmp_path / "model.keras")
  loaded = keras.saving.load_model(tmp_path / "model.keras")
  assert encoder_config(loaded.backbone) == encoder_config(model.backbone)
  assert encoder_config(model.backbone).attention_dropout == 0.3
  for name, logits in model(INPUTS).items():
    np.testing.assert_array_equal(loaded(INPUTS)[name], logits)


def test_a_pretraining_model_is_loaded_with_its_heads(tmp_path):
  model = PretrainingModel(shared_extractor().backbone)
  model.save(tmp_path / "model.keras")
  loaded = keras.saving.load_model(tmp_path / "model.keras")
  assert type(loaded) is PretrainingModel
  for weight, expected in zip(loaded.weights, model.weights, strict=True):
    np.testing.assert_array_equal(weight, expected, err_msg=weight.path)


@pytest.mark.parametrize(
  ("name", "arguments"),
  [
    ("SpanHead", {"use_bias": False}),
    ("BioHead", {}),
    ("SpanLoss", {"ends": "sum"}),
    ("BioLoss", {"tokens": "mean", "class_weights": [1, 2, 3]}),
    ("WordPieceTokenizer", {"vocabulary": VOCABULARY, "do_lower_case": False}),
    ("SlidingWindows", {**_WINDOWS, "cls_id": 2, "sep_id": 3}),
    ("SpanPreprocessor", {"tokenizer": VOCABULARY, **_WINDOWS}),
    ("SpanDecoder", {"options": DecoderOptions(n_best_size=3)}),
    ("BioDecoder", {"options": BioDecoderOptions("greedy", 0.25)}),
    ("BertAdamW", {"learning_rate": 0.5, "bias_correction": True}),
    ("WarmupLinearDecay", {"learning_rate": 0.5, "num_train_steps": 4}),
    ("MaskedLmHead", {"hidden_dim": 4, "vocabulary_size": 9}),
    ("SpanBoundaryHead", {"hidden_dim": 4, "vocabulary_size": 9}),
  ],
)
def test_an_object_is_made_again_from_what_keras_writes(name, arguments):
  made = getattr(bert_span, name)(**arguments)
  written = keras.saving.serialize_keras_object(made)
  again = keras.saving.deserialize_keras_object(written)
  assert type(again) is type(made)
  assert again.get_config() == made.get_config()
  if "options" in arguments:
    assert again.options == arguments["options"]
