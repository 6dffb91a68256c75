"""Added tokens in the files of models, and as transformers finds them."""

import importlib.util
import json
import subprocess
import sys

import numpy as np
import pytest

from bert_span.data.preprocessor import SpanPreprocessor
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.presets.encoder_weights import LoadedPreset
from bert_span.presets.huggingface_writer import save_huggingface
from bert_span.pretraining.batches import PretrainingInput
from bert_span.pretraining.options import MaskingOptions
from bert_span.text.vocabulary import (
  AddedToken,
  ExtendedVocabulary,
  split_vocabulary,
)
from bert_span.tflite.file import vocabulary_files
from tests.support.models import (
  BYTE_PAIRS,
  CONTEXT,
  MODERNBERT_PAIRS,
  QUESTION,
  VOCABULARY,
  extractor_of,
  tiny_encoder,
  trained_pieces,
)

_ADDED = (
  AddedToken("[Q]"),
  AddedToken("Covid", single_word=True, normalized=True),
  AddedToken("left", lstrip=True),
  AddedToken("<e1>", rstrip=True, normalized=True),
)
_TEXT = "the Covid [Q]mill  left<e1> in covid19"


def _vocabulary(architecture):
  """The extended vocabulary of an architecture."""
  own = {
    "bert": VOCABULARY,
    "roberta": BYTE_PAIRS,
    "modernbert": split_vocabulary(MODERNBERT_PAIRS).vocabulary,
  }.get(architecture)
  return ExtendedVocabulary(own or trained_pieces(architecture), _ADDED)


@pytest.fixture(
  params=[
    *("bert", "roberta", "modernbert"),
    *("xlm-roberta", "camembert", "deberta-v2", "albert"),
  ]
)
def extractor(request):
  vocabulary = _vocabulary(request.param)
  made = extractor_of(request.param, vocabulary=vocabulary)
  made.head_is_trained = True
  return made


def test_they_are_written_and_read_again(extractor, tmp_path):
  extractor.save_to_preset(tmp_path / "ours")
  save_huggingface(extractor, tmp_path / "theirs")
  config = json.loads(json.dumps(extractor.preprocessor.get_config()))
  tokenizers = [SpanPreprocessor.from_config(config).tokenizer]
  for name in ("ours", "theirs"):
    read = SpanExtractor.from_preset(tmp_path / name, extractor.window_options)
    tokenizers.append(read.preprocessor.tokenizer)
  own = extractor.preprocessor.tokenizer
  expected = [part.to_list() for part in own([_TEXT])]
  found = {own.vocabulary[i] for i in expected[0][0]}
  assert found >= {token.content for token in _ADDED}
  for tokenizer in tokenizers:
    assert tokenizer.vocabulary == own.vocabulary
    assert {*tokenizer.added_tokens} == {*_ADDED}
    assert [part.to_list() for part in tokenizer([_TEXT])] == expected


@pytest.mark.parametrize("architecture", ["bert", "roberta", "xlm-roberta"])
def test_no_file_for_devices_has_them(architecture):
  with pytest.raises(ValueError, match=r"added tokens.*\[Q\]"):
    vocabulary_files(_vocabulary(architecture))


def test_a_file_for_devices_has_those_of_modernbert():
  files, _ = vocabulary_files(_vocabulary("modernbert"))
  values = json.loads(files["tokenizer.json"])
  contents = {token["content"] for token in values["added_tokens"]}
  assert contents >= {token.content for token in _ADDED}


@pytest.mark.large
def test_a_saved_model_finds_them(tmp_path):
  # It is compared with the model in a fresh process.
  import tensorflow as tf

  extractor = extractor_of("xlm-roberta", vocabulary=_vocabulary("xlm-roberta"))
  extractor.head_is_trained = True
  extractor.export(tmp_path / "qa")
  (version,) = (tmp_path / "qa").iterdir()
  served = tf.saved_model.load(str(version)).signatures["serving_default"]
  context = f"{CONTEXT} {_TEXT} {CONTEXT}"
  row = served(question=tf.constant([QUESTION]), context=tf.constant([context]))
  expected = extractor.answer(QUESTION, context)
  texts = [x.numpy().ravel() for x in row.values() if x.dtype == tf.string]
  assert expected.text.encode() in np.concatenate(texts).tolist()


def test_an_id_that_is_not_the_tokens_row_is_refused(tmp_path):
  extractor = extractor_of("bert", vocabulary=_vocabulary("bert"))
  extractor.head_is_trained = True
  save_huggingface(extractor, tmp_path / "model")
  path = tmp_path / "model/tokenizer_config.json"
  values = json.loads(path.read_text())
  tokens = values["added_tokens_decoder"]
  first = str(len(VOCABULARY))
  assert tokens[first]["content"] == "[Q]"
  tokens["99"] = tokens.pop(first)
  path.write_text(json.dumps(values))
  with pytest.raises(ValueError, match=rf"'Covid' must be {first}.*"):
    SpanExtractor.from_preset(tmp_path / "model", extractor.window_options)


def test_a_named_token_without_an_embedding_is_ordinary_characters(
  tmp_path, capsys
):
  path = tmp_path / "vocab.txt"
  path.write_text("\n".join(VOCABULARY))
  backbone = tiny_encoder(vocabulary_size=len(VOCABULARY) + 1)
  preset = LoadedPreset(
    backbone,
    vocabulary_path=str(path),
    lower_case=True,
    added_tokens=[(AddedToken("<a>"), None), (AddedToken("<b>"), None)],
  )
  assert preset.vocabulary().tokens == [*VOCABULARY, "<a>"]
  assert "'<b>'" in capsys.readouterr().err


def test_pretraining_refuses_them_by_name():
  with pytest.raises(ValueError, match=r"\[Q\]"):
    PretrainingInput(_vocabulary("bert"), True, 32, MaskingOptions())


@pytest.mark.large
def test_transformers_finds_the_same(extractor, repository, tmp_path):
  if not importlib.util.find_spec("transformers"):
    pytest.skip("transformers is not installed")
  save_huggingface(extractor, tmp_path / "model")
  texts = [_TEXT, "Covid", "a <e1>  b [Q] left\tleft mill", CONTEXT]
  (tmp_path / "texts.json").write_text(json.dumps([[x] for x in texts]))
  script = repository / "tests/scripts/transformers_tokens.py"
  run = subprocess.run(
    [sys.executable, script, tmp_path / "texts.json", tmp_path / "model"],
    check=True,
    stdout=subprocess.PIPE,
  )
  tokenizer = extractor.preprocessor.tokenizer
  columns = (part.to_list() for part in tokenizer(texts))
  for text, theirs, *ours in zip(
    texts, json.loads(run.stdout), *columns, strict=True
  ):
    ids, offsets = (each[1:-1] for each in theirs)
    assert ours[0] == ids, text
    added = {tokenizer.token_to_id(token.content) for token in _ADDED}
    found = list(zip(*ours, strict=True))
    if extractor.backbone.name.startswith("modern"):
      # transformers has blanks in all its offsets.
      offsets = [_without_blanks(text, *x) for x in offsets]
    expected = [(i, *x) for i, x in zip(ids, offsets, strict=True)]
    assert [x for x in found if x[0] in added] == [
      x for x in expected if x[0] in added
    ], text


def _without_blanks(text, start, end):
  token = text[start:end]
  lengths = len(token.lstrip()), len(token.rstrip())
  return end - lengths[0], start + lengths[1]
