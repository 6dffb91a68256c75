"""The tokenizer's files in a Hugging Face directory: which of them count."""

import importlib.util
import json
import subprocess
import sys

import pytest

from bert_span.data.preprocessor import SpanPreprocessor
from bert_span.modeling.architectures import ARCHITECTURES
from bert_span.presets.architectures.architecture_files import files_of
from bert_span.presets.encoder_weights import LoadedPreset
from bert_span.presets.huggingface_tokenizer import (
  find_huggingface_tokenizer,
  write_huggingface_tokenizer,
)
from bert_span.presets.vocabulary_files import load_vocabulary
from bert_span.text.options import WindowOptions
from bert_span.text.sentencepiece_model import PIECE_FAMILIES, ModelProto
from bert_span.text.vocabulary import (
  AddedToken,
  ExtendedVocabulary,
  split_vocabulary,
)
from tests.support.hub import tokenizer_json
from tests.support.models import (
  BYTE_PAIRS,
  CONTEXT,
  MODERNBERT_PAIRS,
  VOCABULARY,
  tiny_encoder,
  tiny_pieces,
  trained_pieces,
)


def _write(folder, architecture, vocabulary, lower_case=False):
  """Writes the files of a vocabulary; returns a function that reads it."""
  folder.mkdir(exist_ok=True)
  size = len(getattr(vocabulary, "tokens", vocabulary))
  backbone = tiny_encoder(architecture=architecture, vocabulary_size=size)
  write_huggingface_tokenizer(str(folder), backbone, vocabulary, lower_case)

  def read():
    found = find_huggingface_tokenizer(str(folder), architecture)
    return LoadedPreset(backbone, **found).vocabulary()

  return read


def _change(path, **values):
  """Changes keys of a JSON file; None removes one."""
  values = {**json.loads(path.read_text()), **values}
  values = {key: value for key, value in values.items() if value is not None}
  path.write_text(json.dumps(values))


@pytest.mark.parametrize("family", PIECE_FAMILIES)
def test_sentence_pieces_are_read_from_either_file(tmp_path, family):
  vocabulary = trained_pieces(family)
  read = _write(tmp_path, family, vocabulary)
  config = json.loads((tmp_path / "tokenizer_config.json").read_text())
  names = "[CLS]", "[SEP]", "[PAD]"
  if family in ("xlm-roberta", "camembert"):
    names = "<s>", "</s>", "<pad>"
  elif family == "albert":
    names = "[CLS]", "[SEP]", "<pad>"
  assert names == tuple(config[f"{x}_token"] for x in ("cls", "sep", "pad"))
  file = tmp_path / files_of(family).piece_file
  assert file.read_bytes() == vocabulary.proto
  text = "Café ½ 日本, the mill."

  def ids():
    tokenizer = SpanPreprocessor(read(), False, WindowOptions(32, 8, 8))
    return tokenizer.tokenizer([text]).ids.to_list()

  own = SpanPreprocessor(vocabulary, False, WindowOptions(32, 8, 8))
  expected = own.tokenizer([text]).ids.to_list()
  assert ids() == expected
  file = file.rename(tmp_path / "spiece.model")
  as_json = (tmp_path / "tokenizer.json").rename(tmp_path / "aside")
  assert ids() == expected
  file.unlink()
  as_json.rename(tmp_path / "tokenizer.json")
  assert ids() == expected
  # A tokenizer.json that normalizes otherwise, as one of transformers 5.
  _change(tmp_path / "tokenizer.json", normalizer={"type": "NFC"})
  with pytest.raises(ValueError, match=r"tokenizer\.json: normalizer\.type"):
    read()


def test_tokenizer_json_is_read_before_the_files_beside_it(tmp_path, capsys):
  vocabulary = tiny_pieces("deberta-v2")
  read = _write(tmp_path, "deberta-v2", vocabulary)
  path = tmp_path / "tokenizer.json"
  values = json.loads(path.read_text())
  vocab = values["model"]["vocab"]
  vocab[6], vocab[9] = vocab[9], vocab[6]
  path.write_text(json.dumps(values))
  assert read().tokens[6] == vocab[6][0]
  assert not capsys.readouterr().err
  # As the published models: only the spm.model falls back to bytes.
  model = ModelProto.FromString(vocabulary.proto)
  model.trainer_spec.byte_fallback = True
  (tmp_path / "spm.model").write_bytes(model.SerializeToString())
  read()
  said = capsys.readouterr().err
  assert said.count("\n") == 1
  assert "tokenizer.json" in said and "spm.model" in said


def test_word_pieces_of_tokenizer_json_are_read_before_vocab_txt(tmp_path):
  ids = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3, "b": 4}
  path = tmp_path / "tokenizer.json"
  path.write_text(json.dumps(tokenizer_json("WordPiece", vocab=ids)))
  (tmp_path / "vocab.txt").write_text("[UNK]\n[CLS]\n[SEP]\nb\na\n")
  read = find_huggingface_tokenizer(tmp_path)
  assert load_vocabulary(read["vocabulary_path"]) == [*ids]


@pytest.mark.parametrize(
  ("config", "about_tokenizer", "key"),
  [
    # As the Japanese models of cl-tohoku: only config.json names the class.
    ({"tokenizer_class": "BertJapaneseTokenizer"}, {}, "BertJapaneseTok"),
    ({}, {"word_tokenizer_type": "mecab"}, "word_tokenizer_type"),
    ({}, {"subword_tokenizer_type": "character"}, "subword_tokenizer_type"),
    ({"model_type": "bert"}, {"never_split": ["ab"]}, "never_split"),
    ({"model_type": "electra"}, {"tokenizer_class": "RobertaTokenizer"}, "Rob"),
  ],
)
def test_another_tokenizer_is_refused_by_name(
  tmp_path, config, about_tokenizer, key
):
  (tmp_path / "config.json").write_text(json.dumps(config))
  (tmp_path / "tokenizer_config.json").write_text(json.dumps(about_tokenizer))
  (tmp_path / "vocab.txt").write_text("[UNK]\n[CLS]\n[SEP]\na\n")
  with pytest.raises(ValueError, match=rf"config\.json: .*{key}"):
    find_huggingface_tokenizer(tmp_path)


@pytest.mark.parametrize(
  ("name", "expected"),
  [("BertTokenizer", True), ("PreTrainedTokenizerFast", False)],
)
def test_the_class_says_which_file_decides_on_lower_case(
  tmp_path, name, expected
):
  # As transformers: its class for any tokenizer.json does not read the keys of
  # BERT's.
  ids = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3}
  values = tokenizer_json("WordPiece", vocab=ids)
  values["normalizer"]["lowercase"] = False
  (tmp_path / "tokenizer.json").write_text(json.dumps(values))
  config = {"do_lower_case": True, "tokenize_chinese_chars": False}
  (tmp_path / "tokenizer_config.json").write_text(
    json.dumps({**config, "tokenizer_class": name})
  )
  found = find_huggingface_tokenizer(tmp_path)
  assert found["lower_case"] is expected
  assert found["word_rules"]["joins_chinese"] is expected


def test_an_albert_has_the_rules_of_its_files(tmp_path):
  read = _write(tmp_path, "albert", tiny_pieces("albert"))
  path = tmp_path / "tokenizer_config.json"
  config = json.loads(path.read_text())
  assert config["do_lower_case"] is True and config["keep_accents"] is False

  def rules(**changes):
    path.write_text(json.dumps(config | changes))
    return read().albert_rules

  assert rules() == rules(do_lower_case=None, keep_accents=None)
  for key, value in (("do_lower_case", False), ("keep_accents", True)):
    with pytest.raises(ValueError, match=rf"tokenizer_config\.json: {key}"):
      rules(**{key: value})
  # Without a tokenizer.json they are those of this file.
  (tmp_path / "tokenizer.json").unlink()
  for changes in (
    {"do_lower_case": False, "keep_accents": True},
    {"do_lower_case": True, "keep_accents": False},
  ):
    assert rules(**changes) == changes
  assert rules(do_lower_case=None, keep_accents=None) == changes


_ADDED = (
  AddedToken("[Q]"),
  AddedToken("Covid", single_word=True, normalized=True),
  AddedToken("left", lstrip=True),
  AddedToken("<e1>", rstrip=True, normalized=True),
)


def test_an_id_that_is_not_the_tokens_row_is_refused(tmp_path):
  read = _write(tmp_path, "bert", ExtendedVocabulary(VOCABULARY, _ADDED), True)
  path = tmp_path / "tokenizer_config.json"
  values = json.loads(path.read_text())
  tokens = values["added_tokens_decoder"]
  first = str(len(VOCABULARY))
  assert tokens[first]["content"] == "[Q]"
  tokens["99"] = tokens.pop(first)
  path.write_text(json.dumps(values))
  with pytest.raises(ValueError, match=rf"'Covid' must be {first}"):
    read()


@pytest.mark.large
def test_transformers_finds_the_same_added_tokens(repository, tmp_path):
  if not importlib.util.find_spec("transformers"):
    pytest.skip("transformers is not installed")
  vocabularies = {
    "bert": VOCABULARY,
    "roberta": BYTE_PAIRS,
    "modernbert": split_vocabulary(MODERNBERT_PAIRS).vocabulary,
    **{family: trained_pieces(family) for family in PIECE_FAMILIES},
  }
  assert vocabularies.keys() <= ARCHITECTURES.keys()
  texts = [
    *("the Covid [Q]mill  left<e1> in covid19", "Covid"),
    *("a <e1>  b [Q] left\tleft mill", CONTEXT),
  ]
  (tmp_path / "texts.json").write_text(json.dumps([[x] for x in texts]))
  for name, vocabulary in vocabularies.items():
    vocabulary = ExtendedVocabulary(vocabulary, _ADDED)
    _write(tmp_path / name, name, vocabulary, name == "bert")
    # transformers takes the class of a model where none is named.
    (tmp_path / name / "config.json").write_text(
      json.dumps({"model_type": name})
    )
  script = repository / "tests/scripts/transformers_tokens.py"
  folders = [tmp_path / name for name in vocabularies]
  run = subprocess.run(
    [sys.executable, script, tmp_path / "texts.json", *folders],
    check=True,
    stdout=subprocess.PIPE,
  )
  lines = map(json.loads, run.stdout.splitlines())
  for (name, vocabulary), encodings in zip(
    vocabularies.items(), lines, strict=True
  ):
    vocabulary = ExtendedVocabulary(vocabulary, _ADDED)
    preprocessor = SpanPreprocessor(
      vocabulary, name == "bert", WindowOptions(32, 8, 8)
    )
    tokenizer = preprocessor.tokenizer
    added = {tokenizer.token_to_id(token.content) for token in _ADDED}
    columns = (part.to_list() for part in tokenizer(texts))
    for text, theirs, *ours in zip(texts, encodings, *columns, strict=True):
      ids, offsets = (each[1:-1] for each in theirs)
      assert ours[0] == ids, (name, text)
      if name == "modernbert":  # transformers has blanks in all its offsets.
        offsets = [_without_blanks(text, *x) for x in offsets]
      found = [x for x in zip(*ours, strict=True) if x[0] in added]
      expected = [(i, *x) for i, x in zip(ids, offsets, strict=True)]
      assert found == [x for x in expected if x[0] in added], (name, text)


def _without_blanks(text, start, end):
  token = text[start:end]
  lengths = len(token.lstrip()), len(token.rstrip())
  return end - lengths[0], start + lengths[1]
