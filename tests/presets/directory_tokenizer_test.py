"""The tokenizer's files in a model directory."""

import json
import os

import keras_hub
import numpy as np
import pytest

from bert_span.data.preprocessor import SpanPreprocessor
from bert_span.modeling.architectures import architecture_of
from bert_span.presets.architectures.architecture_files import files_of
from bert_span.presets.directory_tokenizer import (
  find_directory_tokenizer,
  write_directory_tokenizer,
)
from bert_span.presets.encoder_weights import LoadedPreset
from bert_span.presets.huggingface_tokenizer import (
  find_huggingface_tokenizer,
  write_huggingface_tokenizer,
)
from bert_span.pretraining.batches import PretrainingInput
from bert_span.pretraining.options import MaskingOptions
from bert_span.text.options import WindowOptions
from bert_span.text.sentencepiece_model import (
  PIECE_FAMILIES,
  ModelProto,
  sentence_pieces,
)
from bert_span.text.vocabulary import (
  AddedToken,
  ExtendedVocabulary,
  WordPieces,
  split_vocabulary,
)
from bert_span.tflite.file import vocabulary_files
from tests.support.models import (
  BYTE_PAIRS,
  MODERNBERT_PAIRS,
  VOCABULARY,
  tiny_encoder,
  tiny_pieces,
)


def _preprocessor(vocabulary, lower_case=True):
  return SpanPreprocessor(vocabulary, lower_case, WindowOptions(32, 8, 8))


def _tokens(tokenizer, text):
  (ids,) = tokenizer([text]).ids.to_list()
  return [tokenizer.vocabulary[i] for i in ids]


def _copies(folder, architecture, preprocessor):
  """The tokenizer of a configuration, of our files, and of transformers'."""
  tokenizer = preprocessor.tokenizer
  config = json.loads(json.dumps(preprocessor.get_config()))
  copies = [SpanPreprocessor.from_config(config).tokenizer]
  size = len(tokenizer.vocabulary)
  backbone = tiny_encoder(architecture=architecture, vocabulary_size=size)
  vocabulary = tokenizer.full_vocabulary, tokenizer.do_lower_case
  ours, theirs = str(folder / "ours"), str(folder / "theirs")
  for directory in (ours, theirs):
    os.mkdir(directory)
  write_directory_tokenizer(ours, *vocabulary, architecture_of(backbone))
  write_huggingface_tokenizer(theirs, backbone, *vocabulary)
  for found in (
    find_directory_tokenizer(ours, backbone),
    find_huggingface_tokenizer(theirs, architecture),
  ):
    preset = LoadedPreset(backbone, **found)
    read = _preprocessor(preset.vocabulary(), preset.lower_case)
    copies.append(read.tokenizer)
  return copies


_WORD_PIECES = (
  *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "caf", "##e", "##é", "café"),
  *("Caf", "paris", "Paris", ",", "日", "日日", "##日"),
)


@pytest.mark.parametrize(
  ("lower_case", "rules", "expected"),
  [
    (True, (), "caf ##e , paris 日 日 日"),
    (False, (), "Caf ##é , Paris 日 日 日"),
    (True, (True, False), "café , paris 日 日 日"),
    (True, (False, True), "caf ##e , paris 日日 ##日"),
    (True, (True, True), "café , paris 日日 ##日"),
  ],
)
def test_written_word_pieces_are_read_here_and_by_keras_hub(
  tmp_path, lower_case, rules, expected
):
  vocabulary = list(_WORD_PIECES)
  if rules:
    vocabulary = WordPieces(vocabulary, *rules)
  text = "Café, Paris 日日日"
  own = _preprocessor(vocabulary, lower_case)
  for tokenizer in (own.tokenizer, *_copies(tmp_path, "bert", own)):
    assert _tokens(tokenizer, text) == expected.split()
    assert tokenizer.full_vocabulary == vocabulary
    assert tokenizer.do_lower_case is lower_case
  # KerasHub finds the encoder's configuration first.
  backbone = tiny_encoder(vocabulary_size=len(_WORD_PIECES))
  content = (tmp_path / "ours/tokenizer.json").read_text()
  backbone.save_to_preset(str(tmp_path / "ours"))
  (tmp_path / "ours/tokenizer.json").write_text(content)
  theirs = keras_hub.models.Tokenizer.from_preset(str(tmp_path / "ours"))
  ids = np.asarray(theirs(text)).tolist()
  assert [_WORD_PIECES[i] for i in ids] == expected.split()


def test_a_vocabulary_may_lack_the_mask_and_padding(tmp_path):
  vocabulary = ["[UNK]", "[CLS]", "[SEP]", "paris"]
  for read in _copies(tmp_path, "bert", _preprocessor(vocabulary)):
    assert read.full_vocabulary == vocabulary


_ADDED = (
  AddedToken("[Q]"),
  AddedToken("Covid", single_word=True, normalized=True),
  AddedToken("left", lstrip=True),
  AddedToken("<e1>", rstrip=True, normalized=True),
)
_NORMALIZER = "Replace NFC Strip"  # of DeBERTa in transformers 5


def _with_normalizer():
  model = ModelProto.FromString(tiny_pieces("deberta-v2").proto)
  model.normalizer_spec.name = _NORMALIZER
  return sentence_pieces(model.SerializeToString(), "deberta-v2", "")


_VOCABULARIES = {
  "bert": VOCABULARY,
  "roberta": BYTE_PAIRS,
  "modernbert": split_vocabulary(MODERNBERT_PAIRS).vocabulary,
  **{family: tiny_pieces(family) for family in PIECE_FAMILIES},
}
# Architectures and their vocabularies.
_UNUSUAL = {
  **{
    f"{name}, added tokens": (name, ExtendedVocabulary(vocabulary, _ADDED))
    for name, vocabulary in _VOCABULARIES.items()
  },
  "deberta-v2, normalizer": ("deberta-v2", _with_normalizer()),
  "roberta, SentencePieces": ("roberta", tiny_pieces("xlm-roberta")),
  # As KLUE's: the id of padding is 1.
  "roberta, WordPieces": (
    "roberta",
    ["[CLS]", "[PAD]", "[SEP]", "[UNK]", *VOCABULARY[4:]],
  ),
}


@pytest.mark.large
@pytest.mark.parametrize("name", _UNUSUAL)
def test_an_unusual_vocabulary_is_written_and_read_again(tmp_path, name):
  architecture, vocabulary = _UNUSUAL[name]
  preprocessor = _preprocessor(vocabulary)
  own = preprocessor.tokenizer
  text = "the\n Covid [Q]mill  left<e1> in covid19\t"
  expected = [part.to_list() for part in own([text])]
  if "added" in name:
    assert {*_tokens(own, text)} >= {token.content for token in _ADDED}
  for read in _copies(tmp_path, architecture, preprocessor):
    assert read.vocabulary == own.vocabulary
    assert {*read.added_tokens} == {*own.added_tokens}
    assert [part.to_list() for part in read([text])] == expected


def test_the_steps_of_a_normalizer_are_in_each_file(tmp_path):
  own = _preprocessor(_with_normalizer())
  for read in _copies(tmp_path, "deberta-v2", own):
    assert _tokens(read, "the\nmill\t") == ["▁the", "▁mill"]
    assert _tokens(read, "in  the") == ["▁in", "▁the"]


def test_other_formats_refuse_an_unusual_vocabulary_by_name():
  added = _UNUSUAL["bert, added tokens"][1]
  with pytest.raises(ValueError, match=r"added.*\[Q\]"):
    vocabulary_files(added)
  with pytest.raises(ValueError, match=_NORMALIZER):
    vocabulary_files(_with_normalizer())
  with pytest.raises(ValueError, match=r"\[Q\]"):
    PretrainingInput(added, True, 32, MaskingOptions())


@pytest.mark.parametrize("family", ["xlm-roberta", "deberta-v2", "albert"])
def test_sentence_pieces_of_keras_hub_are_read_and_it_reads_ours(
  tmp_path, family
):
  vocabulary = tiny_pieces(family)
  size = len(vocabulary.tokens)
  backbone = tiny_encoder(architecture=family, vocabulary_size=size)
  tokenizer_class = files_of(family).keras_tokenizer
  theirs = tokenizer_class(vocabulary.proto)
  for part in (backbone, theirs):
    part.save_to_preset(str(tmp_path))
  preset = LoadedPreset(
    backbone, **find_directory_tokenizer(str(tmp_path), backbone)
  )
  read = _preprocessor(preset.vocabulary(), preset.lower_case).tokenizer
  text = "who built the mill in 1895 日 x?"  # KerasHub's does not lower-case.
  (ids,) = read([text]).ids.to_list()
  assert ids == np.asarray(theirs(text)).tolist()
  assert read.cls_id == theirs.start_token_id
  architecture = architecture_of(backbone)
  write_directory_tokenizer(tmp_path, vocabulary, False, architecture)
  again = tokenizer_class.from_preset(str(tmp_path))
  assert np.asarray(again(text)).tolist() == ids


@pytest.fixture
def tokenizer_file(tmp_path):
  """A function that changes a key of a written tokenizer.json."""
  write_directory_tokenizer(tmp_path, VOCABULARY, False)
  path = tmp_path / "tokenizer.json"

  def change(key, value):
    values = json.loads(path.read_text())
    part = values if key in values else values["config"]
    part[key] = value
    path.write_text(json.dumps(values))
    return path

  return change


def test_keras_hub_says_whether_chinese_characters_are_split(tokenizer_file):
  folder = tokenizer_file("split_on_cjk", False).parent
  found = find_directory_tokenizer(str(folder), tiny_encoder())
  assert found["word_rules"] == {"keeps_accents": False, "joins_chinese": True}


@pytest.mark.parametrize(
  ("key", "value"),
  [
    ("registered_name", "keras_nlp>RobertaTokenizer"),
    ("registered_name", "keras_nlp>NoTokenizer"),
    ("split", False),
    ("suffix_indicator", "@@"),
    ("oov_token", "<unk>"),
    ("strip_accents", True),
    ("lowercase", "true"),
  ],
)
def test_other_tokens_are_refused_by_name(tokenizer_file, key, value):
  path = tokenizer_file(key, value)
  with pytest.raises(ValueError, match=rf"{path}: {key} "):
    find_directory_tokenizer(str(path.parent), tiny_encoder())


def test_a_directory_without_a_vocabulary_has_no_tokenizer(tmp_path):
  assert find_directory_tokenizer(str(tmp_path), tiny_encoder()) == {}
