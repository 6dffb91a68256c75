"""Tokenizers that keep accents or join Chinese characters, in files."""

import json

import keras_hub
import numpy as np
import pytest

from bert_span.data.preprocessor import SpanPreprocessor
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.presets.huggingface_writer import save_huggingface
from bert_span.pretraining.batches import PretrainingInput
from bert_span.pretraining.options import MaskingOptions
from bert_span.text.vocabulary import WordPieces
from tests.support.models import VOCABULARY, extractor_of

_TOKENS = [*VOCABULARY, "café", "##é", "日日", "##日"]
_TEXT = "CAFÉ cafe 日日日."
_PIECES = {
  (True, False): ["café", "cafe", "日", "日", "日", "."],
  (False, True): ["cafe", "cafe", "日日", "##日", "."],
  (True, True): ["café", "cafe", "日日", "##日", "."],
}


@pytest.mark.parametrize("rules", _PIECES)
def test_the_rules_of_words_are_written_and_read_again(tmp_path, rules):
  vocabulary = WordPieces(_TOKENS, *rules)
  extractor = extractor_of("bert", vocabulary=vocabulary)
  extractor.head_is_trained = True
  extractor.save_to_preset(tmp_path / "ours")
  save_huggingface(extractor, tmp_path / "theirs")
  config = extractor.preprocessor.get_config()
  tokenizers = [SpanPreprocessor.from_config(config).tokenizer]
  for name in ("ours", "theirs"):
    read = SpanExtractor.from_preset(tmp_path / name, extractor.window_options)
    tokenizers.append(read.preprocessor.tokenizer)
  for tokenizer in tokenizers:
    (ids,) = tokenizer([_TEXT]).ids.to_list()
    assert [_TOKENS[i] for i in ids] == _PIECES[rules]
    assert tokenizer.full_vocabulary == vocabulary
  # KerasHub finds the same.
  theirs = keras_hub.models.Tokenizer.from_preset(str(tmp_path / "ours"))
  assert np.asarray(theirs(_TEXT)).tolist() == ids


def test_a_preset_of_keras_hub_says_whether_it_splits_chinese(tmp_path):
  extractor = extractor_of("bert", vocabulary=_TOKENS)
  extractor.save_to_preset(tmp_path / "model")
  path = tmp_path / "model/tokenizer.json"
  values = json.loads(path.read_text())
  values["config"]["split_on_cjk"] = False
  path.write_text(json.dumps(values))
  read = SpanExtractor.from_preset(
    tmp_path / "model", extractor.window_options, verify=False
  )
  expected = WordPieces(_TOKENS, joins_chinese=True)
  assert read.preprocessor.tokenizer.full_vocabulary == expected


def test_pretraining_refuses_them_by_name():
  with pytest.raises(ValueError, match="accents"):
    PretrainingInput(WordPieces(_TOKENS, True), True, 32, MaskingOptions())
