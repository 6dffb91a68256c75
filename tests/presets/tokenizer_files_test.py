"""A vocabulary written for KerasHub, read back by it and by this package."""

import json

import keras_hub
import pytest
import tensorflow as tf

from bert_span.modeling.encoder import build_encoder
from bert_span.modeling.encoder_config import EncoderConfig
from bert_span.modeling.span_head import SpanHead
from bert_span.modeling.span_model import SpanModel
from bert_span.presets import load_pretrained, model_directory
from bert_span.presets.tokenizer_files import save_tokenizer
from bert_span.text.tokenizer import WordPieceTokenizer
from bert_span.text.vocabulary import load_vocabulary

_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
_WORDS = ["caf", "##e", "##é", "Caf", "paris", "Paris", ",", "日"]
_VOCABULARY = _SPECIAL + _WORDS
_TEXT = "Café, Paris 日"


def _save_model(directory):
  sizes = EncoderConfig(
    vocabulary_size=len(_VOCABULARY),
    num_layers=1,
    num_heads=2,
    hidden_dim=4,
    intermediate_dim=8,
    max_sequence_length=8,
    num_segments=2,
  )
  model = SpanModel(build_encoder(sizes), SpanHead())
  model_directory.save_span_model(model, directory)


@pytest.mark.parametrize("do_lower_case", [True, False])
def test_keras_hub_tokenizes_as_this_package(tmp_path, do_lower_case):
  _save_model(tmp_path)
  save_tokenizer(tmp_path, _VOCABULARY, do_lower_case)
  tokenizer = keras_hub.models.BertTokenizer.from_preset(str(tmp_path))
  ours = WordPieceTokenizer(_VOCABULARY, do_lower_case)
  expected = [5, 6, 11, 9, 12] if do_lower_case else [8, 7, 11, 10, 12]
  assert ours(tf.constant([_TEXT])).ids.to_list() == [expected]
  assert list(tokenizer(_TEXT)) == expected


@pytest.mark.parametrize("do_lower_case", [True, False])
def test_files_are_those_of_keras_hub(tmp_path, do_lower_case):
  save_tokenizer(tmp_path / "ours", _VOCABULARY, do_lower_case)
  keras_hub.models.BertTokenizer(
    _VOCABULARY, lowercase=do_lower_case, strip_accents=do_lower_case
  ).save_to_preset(str(tmp_path / "theirs"))
  for name in ("tokenizer.json", "assets/tokenizer/vocabulary.txt"):
    texts = [
      (tmp_path / folder / name).read_text("utf-8")
      for folder in ("ours", "theirs")
    ]
    if name.endswith("json"):
      texts = [json.loads(text)["config"] for text in texts]
      for settings in texts:
        settings.pop("name")  # numbered by Keras
    assert texts[0] == texts[1]


def test_vocabulary_without_mask_and_pad_is_saved(tmp_path):
  vocabulary = ["[UNK]", "[CLS]", "[SEP]", "paris"]
  save_tokenizer(tmp_path, vocabulary, do_lower_case=True)
  path = str(tmp_path / "assets" / "tokenizer" / "vocabulary.txt")
  assert load_vocabulary(path) == vocabulary


@pytest.mark.parametrize("do_lower_case", [True, False])
def test_saved_model_is_loaded_with_its_vocabulary_and_case(
  tmp_path, do_lower_case
):
  _save_model(tmp_path)
  save_tokenizer(tmp_path, _VOCABULARY, do_lower_case)
  loaded = load_pretrained.load_pretrained(tmp_path)
  assert loaded.lower_case == do_lower_case
  assert load_vocabulary(loaded.vocabulary_path) == _VOCABULARY
