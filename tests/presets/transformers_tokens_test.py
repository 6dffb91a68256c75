"""Each value that the tables accept gives the tokens of transformers."""

import importlib.util
import json
import subprocess
import sys

import pytest
import tokenizers

from bert_span.data.preprocessor import SpanPreprocessor
from bert_span.presets.huggingface_tokenizer import find_huggingface_tokenizer
from bert_span.presets.span_config import find_embedded_model
from bert_span.presets.tokenizer_keys import CONFIG_VALUES, JSON_VALUES
from bert_span.presets.vocabulary_files import load_vocabulary
from bert_span.text.options import WindowOptions
from bert_span.text.vocabulary import WordPieces
from tests.support.hub import tokenizer_json

pytestmark = pytest.mark.large
_PAIRS = [
  ("Who built the mill?", "The mill, built by Anna in 1895, burnt."),
  ("WHO öffnete the Café?", "Zoë's naïve co-op: É 日本 語 x\u0301 ß Ⅻ"),
  ("what  is\tit", "\u200bIt's\u00a0“100 %”\n\n  — ½ of ﬁve…  🙂"),
]
# Unigram models are compared with the sentencepiece package, see
# sentencepiece_tokenizer_test.py.
_CLASSES = {"WordPiece": "BertTokenizer", "BPE": "RobertaTokenizer"}
_SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def _byte_pairs():
  """vocab and merges of a small model of byte pairs."""
  trained = tokenizers.ByteLevelBPETokenizer()
  texts = [text for pair in _PAIRS for text in pair] * 3
  trained.train_from_iterator(
    texts, 400, special_tokens=_SPECIAL, show_progress=False
  )
  return json.loads(trained.to_str())["model"]


def _usual(kind):
  """tokenizer.json of a kind, with a vocabulary."""
  if kind == "BPE":
    model = _byte_pairs()
    values = tokenizer_json(kind, vocab=model["vocab"], merges=model["merges"])
    special = _SPECIAL
  else:
    folder = find_embedded_model("minilm_squad")
    tokens = load_vocabulary(f"{folder}/assets/tokenizer/vocabulary.txt")
    ids = {token: i for i, token in enumerate(tokens)}
    values = tokenizer_json(kind, vocab=ids)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    values["post_processor"]["special_tokens"] = {
      token: {"id": token, "ids": [ids[token]], "tokens": [token]}
      for token in ("[CLS]", "[SEP]")
    }
    values["post_processor"]["single"] = values["post_processor"]["pair"][:3]
  flags = ("single_word", "lstrip", "rstrip", "normalized")
  values["added_tokens"] = [
    {
      "id": values["model"]["vocab"][token],
      "content": token,
      "special": True,
      **dict.fromkeys(flags, False),
    }
    for token in special
  ]
  return {"version": "1.0", "truncation": None, "padding": None, **values}


def _cases():
  """Each accepted value as (kind, file, key, value)."""
  for file, table in (
    ("tokenizer.json", JSON_VALUES),
    ("tokenizer_config.json", CONFIG_VALUES),
  ):
    for kind in _CLASSES:
      for key, values in table[kind].items():
        for value in values:
          yield kind, file, key, value
  for lower_case in (True, False):
    yield "WordPiece", "tokenizer.json", "normalizer.lowercase", lower_case
    yield "WordPiece", "tokenizer_config.json", "do_lower_case", lower_case
    yield "WordPiece", "tokenizer.json", "normalizer.strip_accents", lower_case
    yield "WordPiece", "tokenizer_config.json", "strip_accents", lower_case


def _write(directory, kind, file, key, value):
  directory.mkdir()
  values, config = _usual(kind), {"tokenizer_class": _CLASSES[kind]}
  if file == "tokenizer_config.json":
    config[key] = value
    if value is None:
      del config[key]
  elif key == "post_processor.pair":
    second = int("B:1" in value)
    if kind == "WordPiece":
      for item in values["post_processor"]["pair"][3:]:
        next(iter(item.values()))["type_id"] = second
  else:
    part, name = key.split(".")
    if value is None and name == "type":
      values[part] = None
    elif value is None:
      values[part].pop(name, None)
    else:
      values[part][name] = value
    # It alone says what the tokens are.
    config["tokenizer_class"] = "PreTrainedTokenizerFast"
  (directory / "tokenizer.json").write_text(json.dumps(values))
  (directory / "tokenizer_config.json").write_text(json.dumps(config))
  # transformers takes the class of a model where none is named.
  model_type = {"WordPiece": "bert", "BPE": "roberta"}[kind]
  (directory / "config.json").write_text(json.dumps({"model_type": model_type}))


def test_each_accepted_value_gives_the_tokens_of_transformers(
  repository, tmp_path
):
  if not importlib.util.find_spec("transformers"):
    pytest.skip("transformers is not installed")
  cases = list(_cases())
  folders = [tmp_path / str(i) for i in range(len(cases))]
  for folder, case in zip(folders, cases, strict=True):
    _write(folder, *case)
  pairs = tmp_path / "pairs.json"
  pairs.write_text(json.dumps(_PAIRS))
  script = repository / "tests/scripts/transformers_tokens.py"
  run = subprocess.run(
    [sys.executable, script, pairs, *folders],
    check=True,
    stdout=subprocess.PIPE,
  )
  expected = list(map(json.loads, run.stdout.splitlines()))
  assert len(expected) == len(cases)
  made, wrong = {}, []
  for folder, case, theirs in zip(folders, cases, expected, strict=True):
    if isinstance(theirs, str):  # transformers cannot do without the key
      assert case[3] is None and "missing field" in theirs, (case, theirs)
      continue
    theirs = [ids for ids, _ in theirs]
    read = find_huggingface_tokenizer(folder)
    lower_case, rules = read["lower_case"], read["word_rules"]
    vocabulary = load_vocabulary(read["vocabulary_path"])
    if any(rules.values()):
      vocabulary = WordPieces(vocabulary, **rules)
    key = str(vocabulary), lower_case
    if key not in made:
      preprocessor = SpanPreprocessor(
        vocabulary, bool(lower_case), WindowOptions(384, 128, 64)
      )
      ours = [
        preprocessor({"question": [q], "context": [c]})["token_ids"][0]
        for q, c in _PAIRS
      ]
      made[key] = [ids.numpy().tolist() for ids in ours]
    if made[key] != theirs:
      wrong.append(case)
  assert not wrong
  # Byte pairs, and WordPieces: cased, uncased, with accents, and with Chinese
  # characters that are no words.
  assert len(made) == 5
