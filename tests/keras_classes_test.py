"""The public classes of Keras objects, made again from what Keras writes."""

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
from tests.support.models import (
  BYTE_PAIRS,
  VOCABULARY,
  shared_extractor,
  tiny_pieces,
)

_WINDOWS = {"options": WindowOptions(32, 8, 8), "pad_to_max": True}
_PAIRS = {"vocabulary": BYTE_PAIRS.tokens, "merges": BYTE_PAIRS.merges}
_MODERNBERT = ["[CLS]", "[SEP]", "[PAD]", "[UNK]", *BYTE_PAIRS.tokens[5:]]
# By the name of a class, arguments that are not the defaults.
_ARGUMENTS = {
  "SpanHead": {"use_bias": False},
  "BioHead": {},
  "SpanLoss": {"ends": "sum"},
  "BioLoss": {"tokens": "mean", "class_weights": [1, 2, 3]},
  "WordPieceTokenizer": {"vocabulary": VOCABULARY, "do_lower_case": False},
  "BytePairTokenizer": {**_PAIRS, "add_prefix_space": True},
  "ModernBertTokenizer": {**_PAIRS, "vocabulary": _MODERNBERT},
  "SentencePieceTokenizer": tiny_pieces("albert")._asdict(),
  "SlidingWindows": {**_WINDOWS, "cls_id": 2, "sep_id": 3},
  "SpanPreprocessor": {"tokenizer": VOCABULARY, **_WINDOWS},
  "BioPreprocessor": {"tokenizer": BYTE_PAIRS, **_WINDOWS},
  "SpanDecoder": {"options": DecoderOptions(n_best_size=3)},
  "BioDecoder": {"options": BioDecoderOptions("greedy", 0.25)},
  "BertAdamW": {"learning_rate": 0.5, "bias_correction": True},
  "WarmupLinearDecay": {"learning_rate": 0.5, "num_train_steps": 4},
  "MaskedLmHead": {"hidden_dim": 4, "vocabulary_size": 9},
  "SpanBoundaryHead": {"hidden_dim": 4, "vocabulary_size": 9},
}


@pytest.mark.parametrize("name", _ARGUMENTS)
def test_an_object_is_made_again_from_what_keras_writes(name):
  arguments = _ARGUMENTS[name]
  made = getattr(bert_span, name)(**arguments)
  written = keras.saving.serialize_keras_object(made)
  again = keras.saving.deserialize_keras_object(written)
  assert type(again) is type(made)
  assert again.get_config() == made.get_config()
  if "options" in arguments:
    assert again.options == arguments["options"]


def test_no_public_class_but_models_is_left_out():
  public = {name: getattr(bert_span, name) for name in bert_span.__all__}
  objects = {
    name
    for name, value in public.items()
    if hasattr(value, "get_config") and not issubclass(value, keras.Model)
  }
  assert objects == _ARGUMENTS.keys()


def test_a_pretraining_model_is_loaded_with_its_heads(tmp_path):
  model = PretrainingModel(shared_extractor().backbone)
  model.save(tmp_path / "model.keras")
  loaded = keras.saving.load_model(tmp_path / "model.keras")
  assert type(loaded) is PretrainingModel
  for weight, expected in zip(loaded.weights, model.weights, strict=True):
    np.testing.assert_array_equal(weight, expected, err_msg=weight.path)
