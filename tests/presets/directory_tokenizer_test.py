"""The tokenizer's files in a model directory."""

import keras_hub
import pytest
import tensorflow as tf

from bert_span.presets.directory_tokenizer import write_directory_tokenizer
from bert_span.presets.load_pretrained import load_pretrained
from bert_span.presets.vocabulary_files import load_vocabulary
from bert_span.text.tokenizer import WordPieceTokenizer
from tests.support.models import tiny_extractor

_VOCABULARY = "[PAD] [UNK] [CLS] [SEP] [MASK] caf ##e ##é Caf paris Paris , 日"
_VOCABULARY = _VOCABULARY.split()
_TEXT = "Café, Paris 日"


@pytest.mark.parametrize("do_lower_case", [True, False])
def test_a_written_tokenizer_is_read_here_and_by_keras_hub(
  tmp_path, do_lower_case
):
  tiny_extractor(vocabulary=_VOCABULARY).save_to_preset(tmp_path / "model")
  directory = str(tmp_path / "model")
  write_directory_tokenizer(directory, _VOCABULARY, do_lower_case)
  tokenizer = keras_hub.models.BertTokenizer.from_preset(directory)
  ours = WordPieceTokenizer(_VOCABULARY, do_lower_case)
  expected = [5, 6, 11, 9, 12] if do_lower_case else [8, 7, 11, 10, 12]
  assert ours(tf.constant([_TEXT])).ids.to_list() == [expected]
  assert list(tokenizer(_TEXT)) == expected
  loaded = load_pretrained(directory, verify=False)
  assert loaded.lower_case == do_lower_case
  assert load_vocabulary(loaded.vocabulary_path) == _VOCABULARY
  # [MASK] and [PAD] may be missing.
  vocabulary = ["[UNK]", "[CLS]", "[SEP]", "paris"]
  write_directory_tokenizer(directory, vocabulary, do_lower_case)
  assert load_vocabulary(loaded.vocabulary_path) == vocabulary
