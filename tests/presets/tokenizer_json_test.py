"""Vocabularies as a tokenizer.json, which the tokenizers library reads."""

import json

import pytest
import tokenizers

from bert_span.presets.tokenizer_json import (
  added_token_objects,
  json_of_modernbert_pairs,
  json_of_sentence_pieces,
  sentence_pieces_of_json,
)
from bert_span.presets.vocabulary_files import load_vocabulary
from bert_span.text.sentencepiece_model import (
  ModelProto,
  sentence_pieces,
)
from bert_span.text.vocabulary import (
  AddedToken,
  ExtendedVocabulary,
  ModernBertPairs,
)
from tests.support.models import tiny_pieces


@pytest.mark.parametrize(
  ("family", "pair", "type_ids"),
  [
    ("xlm-roberta", "<s> ▁the </s> </s> ▁in ▁mill </s>", [0] * 7),
    ("camembert", "<s> ▁the </s> </s> ▁in ▁mill </s>", [0] * 7),
    ("deberta-v2", "[CLS] ▁the [SEP] ▁in ▁mill [SEP]", [0, 0, 0, 1, 1, 1]),
    ("albert", "[CLS] ▁the [SEP] ▁in ▁mill [SEP]", [0, 0, 0, 1, 1, 1]),
  ],
)
def test_the_tokenizers_library_makes_the_pairs_of_a_family(
  family, pair, type_ids
):
  pieces = tiny_pieces(family)
  values = json_of_sentence_pieces(pieces)
  encoding = tokenizers.Tokenizer.from_str(json.dumps(values)).encode(
    "the", "in mill"
  )
  assert encoding.tokens == pair.split()
  assert encoding.type_ids == type_ids
  assert encoding.ids == [pieces.tokens.index(token) for token in pair.split()]
  # The pieces are read back as they were.
  assert sentence_pieces_of_json(values, family, "x").tokens == pieces.tokens


def _with(change):
  model = ModelProto.FromString(tiny_pieces("xlm-roberta").proto)
  change(model)
  return sentence_pieces(model.SerializeToString(), "xlm-roberta", "")


@pytest.mark.parametrize(
  ("change", "name"),
  [
    (lambda m: setattr(m.trainer_spec, "model_type", 2), "model_type"),
    (
      lambda m: setattr(m.normalizer_spec, "add_dummy_prefix", False),
      "add_dummy_prefix",
    ),
    (
      lambda m: setattr(m.normalizer_spec, "remove_extra_whitespaces", False),
      "remove_extra_whitespaces",
    ),
    # User-defined, and never used.
    (lambda m: setattr(m.pieces[7], "type", 4), "pieces"),
    (lambda m: setattr(m.pieces[7], "type", 5), "pieces"),
    (lambda m: m.pieces.add(piece="▁in▁the"), "several words"),
    (lambda m: m.pieces.add(piece="the▁"), "several words"),
  ],
)
def test_what_a_tokenizer_json_cannot_hold_is_refused_by_name(change, name):
  assert json_of_sentence_pieces(_with(id))["model"]["unk_id"] == 3
  with pytest.raises(ValueError, match=name):
    json_of_sentence_pieces(_with(change))


def test_a_model_may_have_the_mask_as_its_last_piece():
  model = ModelProto.FromString(tiny_pieces("deberta-v2").proto)
  model.pieces.add(piece="[MASK]", type=4)
  pieces = sentence_pieces(model.SerializeToString(), "deberta-v2", "")
  values = json_of_sentence_pieces(pieces)
  assert values["model"]["vocab"][-1] == ("[MASK]", 0.0)
  assert values["added_tokens"][-1]["id"] == len(pieces.tokens) - 1


_FIRST = [[token, 0.0] for token in ("<s>", "<pad>", "</s>", "<unk>")]


@pytest.mark.parametrize(
  "change",
  [
    {"vocab": 7},
    {"vocab": [["<s>"]]},
    {"vocab": [["<s>", "high"]]},
    {"vocab": _FIRST[::-1]},
    # Only one of 256 bytes is a token.
    {"byte_fallback": True, "vocab": [*_FIRST, ["<0x00>", 0.0]]},
  ],
)
def test_a_damaged_vocabulary_is_refused_by_its_file(change):
  values = json_of_sentence_pieces(tiny_pieces("xlm-roberta"))
  values["model"] |= change
  with pytest.raises(ValueError, match=r"dir/tokenizer\.json"):
    sentence_pieces_of_json(values, "xlm-roberta", "dir/tokenizer.json")


@pytest.mark.parametrize(
  "family", ["bert", "camembert", "deberta-v2", "albert"]
)
def test_pieces_of_another_family_are_refused(family):
  values = json_of_sentence_pieces(tiny_pieces("xlm-roberta"))
  with pytest.raises(ValueError, match=rf"tokenizer\.json.*{family}"):
    sentence_pieces_of_json(values, family, "tokenizer.json")


def test_added_tokens_are_sorted_by_their_ids():
  added = AddedToken("b", lstrip=True), AddedToken("z"), AddedToken("y")
  vocabulary = ExtendedVocabulary(["[UNK]", "a", "b"], added)
  objects = added_token_objects(vocabulary)
  assert [(x["id"], x["content"]) for x in objects] == [
    *((2, "b"), (3, "z"), (4, "y")),
  ]
  assert [x["lstrip"] for x in objects] == [True, False, False]
  assert not any(x["special"] for x in objects)


def test_byte_pairs_of_modernbert_are_written_and_read(tmp_path):
  pairs = ModernBertPairs(
    ["[CLS]", "[SEP]", "[MASK]", "Ġ", "a", "Ġa", "   ", "[unused0]", "ab"],
    ["Ġ a"],
  )
  added = [AddedToken(t, normalized=True) for t in ("   ", "[unused0]", "[Q]")]
  expected = ExtendedVocabulary(pairs, tuple(added))
  values = json_of_modernbert_pairs(expected)
  special = [x["content"] for x in values["added_tokens"] if x["special"]]
  assert special == ["[CLS]", "[SEP]", "[MASK]"]
  path = tmp_path / "tokenizer.json"
  path.write_text(json.dumps(values))
  # The file has all tokens in one list.
  tokens = [*pairs.tokens, "[Q]"]
  assert load_vocabulary(str(path)) == expected._replace(
    vocabulary=pairs._replace(tokens=tokens)
  )
  # The tokenizers library finds the same tokens: "ab" is none of a merge.
  read = tokenizers.Tokenizer.from_file(str(path))
  found = read.encode("a   a[unused0][Q]", "a").tokens
  assert found == (
    ["[CLS]", "a", "   ", "a", "[unused0]", "[Q]", "[SEP]", "a", "[SEP]"]
  )
