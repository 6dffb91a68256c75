"""Each key of Hugging Face's tokenizer files is used or refused by name."""

import importlib.util
import json
import subprocess
import sys

import pytest
import tokenizers

from bert_span.data.preprocessor import SpanPreprocessor
from bert_span.presets.huggingface_tokenizer import find_huggingface_tokenizer
from bert_span.presets.span_config import find_embedded_model
from bert_span.presets.tokenizer_json import json_of_sentence_pieces
from bert_span.presets.tokenizer_keys import (
  CONFIG_VALUES,
  JSON_VALUES,
  added_tokens_of_files,
  added_tokens_of_json,
  check_config,
  check_json,
)
from bert_span.presets.vocabulary_files import load_vocabulary
from bert_span.text.options import WindowOptions
from bert_span.text.vocabulary import AddedToken, WordPieces
from tests.support.hub import complete_json, tokenizer_json
from tests.support.models import tiny_pieces


def _with(kind, key, value):
  """A tokenizer.json with another value of a key."""
  values = tokenizer_json(kind)
  if key == "post_processor.pair":
    values["post_processor"] = value
    return values
  part, name = key.split(".")
  items = (values[part] or {}).get("pretokenizers")
  if items and name != "type":
    items[-1][name] = value
    return values
  if items:
    values[part] = {}
  if name == "type":
    values[part] = None if value is None else {**(values[part] or {})}
  if values[part] is not None:
    values[part][name] = value
  return values


@pytest.mark.parametrize("kind", JSON_VALUES)
def test_usual_files_are_accepted(kind):
  lower_case = kind == "WordPiece"
  assert check_json(tokenizer_json(kind), "tokenizer.json") == (
    kind,
    lower_case,
  )
  assert check_config({}, kind, "tokenizer_config.json") is None


# As files of before version 0.9 of the tokenizers library have them.
_UNTYPED = {
  "WordPiece": {"max_input_chars_per_word": 100, "vocab": {"[UNK]": 0}},
  "BPE": {"continuing_subword_prefix": "", "vocab": {"a": 0}, "merges": []},
  "Unigram": {"unk_id": 3, "vocab": [["a", -1.0], *[["b", -1.0]] * 3]},
}


@pytest.mark.parametrize("kind", _UNTYPED)
def test_the_type_of_a_model_is_known_by_its_fields(kind):
  values = tokenizer_json(kind, **_UNTYPED[kind])
  del values["model"]["type"]
  assert check_json(values, "") == (kind, kind == "WordPiece")
  # The tokenizers library finds the same type.
  content = json.dumps({"version": "1.0", "model": values["model"]})
  model = tokenizers.Tokenizer.from_str(content).model
  assert type(model).__name__ == kind
  mark = {"WordPiece": "max_input_chars_per_word", "BPE": "merges"}
  del values["model"][mark.get(kind, "unk_id")]
  with pytest.raises(ValueError, match=r"tokenizer\.json: the type .*None"):
    check_json(values, "tokenizer.json")


@pytest.mark.parametrize(
  ("kind", "key"),
  [(kind, key) for kind in JSON_VALUES for key in JSON_VALUES[kind]],
)
def test_other_values_of_tokenizer_json_are_refused_by_name(kind, key):
  other = {"type": "Other"} if key == "post_processor.pair" else "other"
  values = _with(kind, key, other)
  if key == "normalizer.type" and kind == "BPE":
    values["normalizer"] = {"type": "NFKC"}
  with pytest.raises(ValueError, match=rf"dir/tokenizer\.json: {key}"):
    check_json(values, "dir/tokenizer.json")


@pytest.mark.parametrize(
  ("kind", "key"),
  [(kind, key) for kind in CONFIG_VALUES for key in CONFIG_VALUES[kind]],
)
def test_values_of_tokenizer_config_are_accepted_or_refused_by_name(kind, key):
  for value in CONFIG_VALUES[kind][key]:
    check_config({key: value}, kind, "tokenizer_config.json")
  with pytest.raises(ValueError, match=rf"tokenizer_config\.json: {key}"):
    check_config({key: "Other"}, kind, "tokenizer_config.json")


@pytest.mark.parametrize("lower_case", [True, False])
@pytest.mark.parametrize("strip_accents", [True, False])
def test_accents_are_stripped_only_where_text_is_lower_cased(
  lower_case, strip_accents
):
  config = {"do_lower_case": lower_case, "strip_accents": strip_accents}
  values = _with("WordPiece", "normalizer.lowercase", lower_case)
  values["normalizer"]["strip_accents"] = strip_accents
  if lower_case or not strip_accents:
    assert check_config(config, "WordPiece", "") is lower_case
    assert check_json(values, "") == ("WordPiece", lower_case)
    return
  with pytest.raises(ValueError, match="strip_accents"):
    check_config(config, "WordPiece", "")
  with pytest.raises(ValueError, match=r"normalizer\.strip_accents"):
    check_json(values, "")


@pytest.mark.parametrize("lower_case", [True, False])
def test_the_normalizer_of_an_albert_says_whether_it_lower_cases(lower_case):
  pieces = tiny_pieces("albert").with_albert_rules(lower_case, False)
  values = json_of_sentence_pieces(pieces)
  assert check_json(values, "") == ("Unigram", lower_case)


def test_bert_has_its_own_post_processor():
  values = tokenizer_json("WordPiece")
  values["post_processor"] = {
    "type": "BertProcessing",
    "cls": ["[CLS]", 2],
    "sep": ["[SEP]", 3],
  }
  assert check_json(values, "") == ("WordPiece", True)
  values["post_processor"]["sep"] = ["</s>", 3]
  with pytest.raises(ValueError, match=r"post_processor\.pair"):
    check_json(values, "")


def test_a_sequence_of_one_normalizer_is_that_normalizer():
  values = tokenizer_json("WordPiece")
  inner = values["normalizer"]
  values["normalizer"] = {"type": "Sequence", "normalizers": [inner]}
  assert check_json(values, "") == ("WordPiece", True)
  values["normalizer"]["normalizers"] = [{"type": "NFC"}, inner]
  with pytest.raises(ValueError, match=r"normalizer\.type"):
    check_json(values, "")


def _added(kind, **files):
  """The added tokens of objects, by the names of their files."""
  files = {f"{n}.json": (f"dir/{n}.json", x) for n, x in files.items()}
  return added_tokens_of_files(files, kind)


@pytest.mark.parametrize("kind", JSON_VALUES)
def test_added_tokens_are_read_from_each_file(kind):
  flags = {"lstrip": True, "rstrip": False, "single_word": True}
  token = {"content": "covid19", "normalized": True, **flags}
  expected = AddedToken("covid19", True, True, False, True), 7
  values = tokenizer_json(kind)
  values["added_tokens"].append({"id": 7, **token, "special": False})
  assert added_tokens_of_json(values, kind, "") == [expected]
  assert _added(kind, tokenizer=values) == [expected]
  config = {"added_tokens_decoder": {"7": token}}
  assert _added(kind, tokenizer_config=config) == [expected]
  # Those of added_tokens.json have no flags; special tokens are as written.
  plain, special = AddedToken("covid19", normalized=True), AddedToken("[Q]")
  files = {"added_tokens": {"[Q]": 8, "covid19": 7}}
  for name in ("tokenizer_config", "special_tokens_map"):
    for key in ("additional_special_tokens", "extra_special_tokens"):
      for tokens in (["[Q]"], [{"content": "[Q]"}], {"q_token": "[Q]"}):
        found = _added(kind, **{name: {key: tokens}})
        assert found == [(special, None)]
        found = _added(kind, **files, **{name: {key: tokens}})
        assert found == [(plain, 7), (special, 8)]
  # Special tokens of the model are ordinary characters.
  names = {"bos_token": "<bos>", "mask_token": {"content": "[MASK]"}}
  if kind == "BPE":
    names["mask_token"] = "<mask>"
  found = _added(kind, tokenizer_config=names)
  assert found == [(AddedToken("<bos>"), None)]


def test_the_file_that_transformers_reads_says_how_a_token_is_found():
  def token(**flags):
    return {"content": "[Q]", "normalized": False, **flags}

  of_json = {"added_tokens": [{"id": 7, **token(lstrip=True)}]}
  decoder = {"added_tokens_decoder": {"7": token(rstrip=True)}}
  left, right = AddedToken("[Q]", lstrip=True), AddedToken("[Q]", rstrip=True)
  others = {"special_tokens_map": {"additional_special_tokens": ["[P]"]}}
  others["added_tokens"] = {"[Q]": 7}
  found = _added("BPE", tokenizer=of_json, tokenizer_config=decoder, **others)
  assert found == [(right, 7)]
  found = _added("BPE", tokenizer=of_json, **others)
  assert found == [(left, 7), (AddedToken("[P]"), None)]


@pytest.mark.parametrize(
  "token",
  [
    *({"content": ""}, {"content": 1}, {"content": "\ud800"}, {}, 7, None),
    *({"content": "x", "lstrip": 1}, {"content": "x", "id": "7"}),
    *({"content": "x", "id": -1}, {"content": "x", "id": True}),
    {"content": "x" * 1001},
  ],
)
def test_a_damaged_added_token_is_refused_by_its_file(token):
  values = {**tokenizer_json("BPE"), "added_tokens": [token]}
  with pytest.raises(ValueError, match=r"dir/tokenizer\.json: .*token"):
    added_tokens_of_json(values, "BPE", "dir/tokenizer.json")
  if isinstance(token, dict) and "id" in token:  # It is the key there.
    return
  for key in ("added_tokens_decoder", "additional_special_tokens"):
    config = {key: [token] if "special" in key else {"7": token}}
    with pytest.raises(
      ValueError, match=r"dir/tokenizer_config\.json: .*token"
    ):
      _added("BPE", tokenizer_config=config)


@pytest.mark.parametrize(
  ("model_type", "name", "refused"),
  [
    ("xlm-roberta", None, False),
    ("camembert", None, False),
    (None, "CamembertTokenizer", False),
    ("deberta-v2", None, True),
    ("deberta-v2", "DebertaV2TokenizerFast", True),
    ("albert", None, False),
    (None, "AlbertTokenizerFast", False),
    (None, None, True),
  ],
)
def test_debertas_unigrams_are_not_lower_cased(model_type, name, refused):
  values = {"do_lower_case": True, "tokenizer_class": name}
  is_read = "albert" in f"{model_type}{name}".lower()
  if refused:
    with pytest.raises(ValueError, match="do_lower_case"):
      check_config(values, "Unigram", "", model_type)
  else:
    lower_case = check_config(values, "Unigram", "", model_type)
    assert lower_case is (True if is_read else None)


def test_the_class_of_another_family_is_refused():
  for model_type, name in (
    ("xlm-roberta", "CamembertTokenizer"),
    ("camembert", "DebertaV2TokenizerFast"),
    ("deberta-v2", "XLMRobertaTokenizer"),
    ("albert", "DebertaV2Tokenizer"),
  ):
    check_config({"tokenizer_class": name}, "Unigram", "")
    with pytest.raises(ValueError, match=f"tokenizer_class.*{name}"):
      check_config({"tokenizer_class": name}, "Unigram", "", model_type)


def test_damaged_objects_are_refused_by_name():
  for key, value in (
    ("added_tokens_decoder", [1]),
    ("added_tokens_decoder", {"x": "[Q]"}),
    ("extra_special_tokens", "[Q]"),
  ):
    with pytest.raises(
      ValueError, match=r"dir/tokenizer_config\.json: .*token"
    ):
      _added("WordPiece", tokenizer_config={key: value})
  for value in ({}, "x", 7):
    with pytest.raises(ValueError, match=r"dir/tokenizer\.json: added_tokens"):
      _added("WordPiece", tokenizer={"added_tokens": value or {"x": 1}})
  values = tokenizer_json("WordPiece")
  for pair in ([1], [{"Sequence": {}}], [{"Sequence": 1}]):
    values["post_processor"]["pair"] = pair
    with pytest.raises(ValueError, match=r"post_processor\.pair"):
      check_json(values, "")


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
    model, special = _byte_pairs(), _SPECIAL
    ids = model["vocab"]
    values = tokenizer_json(kind, vocab=ids, merges=model["merges"])
  else:
    folder = find_embedded_model("minilm_squad")
    tokens = load_vocabulary(f"{folder}/assets/tokenizer/vocabulary.txt")
    ids = {token: i for i, token in enumerate(tokens)}
    values = tokenizer_json(kind, vocab=ids)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
  return complete_json(values, ids, special)


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


@pytest.mark.large
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
