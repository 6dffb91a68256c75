"""Each key of Hugging Face's tokenizer files is used or refused by name."""

import json

import pytest
import tokenizers
from tokenizer_json import tokenizer_json

from bert_span.presets.tokenizer_keys import (
  CONFIG_VALUES,
  JSON_VALUES,
  NFC_PAIRS,
  check_added_tokens,
  check_config,
  check_json,
)


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


def test_a_sequence_of_one_normalizer_is_that_normalizer():
  values = tokenizer_json("WordPiece")
  inner = values["normalizer"]
  values["normalizer"] = {"type": "Sequence", "normalizers": [inner]}
  assert check_json(values, "") == ("WordPiece", True)
  values["normalizer"]["normalizers"] = [{"type": "NFC"}, inner]
  with pytest.raises(ValueError, match=r"normalizer\.type"):
    check_json(values, "")


@pytest.mark.parametrize("kind", _UNTYPED)
def test_added_tokens_other_than_special_ones_are_refused(kind):
  added = {"7": {"content": "covid19"}}
  with pytest.raises(ValueError, match="covid19"):
    check_config({"added_tokens_decoder": added}, kind, "")
  for key in ("additional_special_tokens", "extra_special_tokens"):
    with pytest.raises(ValueError, match=r"\[Q\]"):
      check_config({key: ["[Q]"]}, kind, "")
  with pytest.raises(ValueError, match=r"\[Q\]"):
    check_config({"extra_special_tokens": {"q_token": "[Q]"}}, kind, "")
  with pytest.raises(ValueError, match="covid19"):
    check_added_tokens({"covid19": 7}, kind, "added_tokens.json")
  values = tokenizer_json(kind)
  values["added_tokens"].append({"id": 7, "content": "covid19"})
  with pytest.raises(ValueError, match="covid19"):
    check_json(values, "")


@pytest.mark.parametrize(
  "flag", ["normalized", "single_word", "lstrip", "rstrip"]
)
def test_an_added_token_of_modernbert_is_found_as_it_is_or_refused(flag):
  flags = {"normalized": True, "single_word": False}
  flags |= {"lstrip": False, "rstrip": False}
  values = tokenizer_json(NFC_PAIRS)
  token = {"id": 7, "content": "[Q]", **flags, "special": False}
  values["added_tokens"] = [token]
  config = {"added_tokens_decoder": {"7": token}}
  for is_refused in (False, True):
    for check, file in ((check_json, values), (check_config, config)):
      arguments = (file, NFC_PAIRS, "") if check is check_config else (file, "")
      token |= {flag: flags[flag] != is_refused, "special": False}
      if is_refused:
        with pytest.raises(ValueError, match=rf"{flag} .*\[Q\]"):
          check(*arguments)
      else:
        check(*arguments)
      # Special tokens are ordinary characters, whatever their flags are.
      token["special"] = True
      check(*arguments)


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
  with pytest.raises(ValueError, match="added_tokens_decoder"):
    check_config({"added_tokens_decoder": [1]}, "WordPiece", "")
  values = tokenizer_json("WordPiece")
  for pair in ([1], [{"Sequence": {}}], [{"Sequence": 1}]):
    values["post_processor"]["pair"] = pair
    with pytest.raises(ValueError, match=r"post_processor\.pair"):
      check_json(values, "")
