"""SentencePiece models: ids of the families, ALBERT's rules, refusals."""

import keras
import pytest

from bert_span.text.sentencepiece_model import (
  ALBERT_NORMALIZERS,
  BYTE,
  CONTROL,
  NORMAL,
  PIECE_FAMILIES,
  USER_DEFINED,
  ModelProto,
  albert_normalizer,
  parse_model,
  piece_ops,
  sentence_pieces,
  steps_of,
)
from tests.support.models import tiny_pieces

_ROBERTA = ("<s>", "<pad>", "</s>", "<unk>")
_CAMEMBERT = ("<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED")
_DEBERTA = ("[PAD]", "[CLS]", "[SEP]", "[UNK]")
_ALBERT = ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")


@pytest.mark.parametrize(
  ("family", "first", "mask"),
  [
    ("xlm-roberta", _ROBERTA, ["<mask>"]),
    ("camembert", (*_CAMEMBERT, "<s>", "</s>"), ["<mask>"]),
    ("deberta-v2", _DEBERTA, ["[MASK]"]),
    ("albert", _ALBERT, []),  # It is among the pieces.
  ],
)
def test_tokens_are_the_family_s_the_model_s_and_the_mask(family, first, mask):
  tokens = tiny_pieces(family).tokens
  assert tokens[: len(first) + 2] == [*first, "▁", "a"]
  assert tokens[len(tokens) - 1 - len(mask) :] == ["▁mill", *mask]


def test_a_mask_among_the_pieces_is_not_added():
  tokens = PIECE_FAMILIES["deberta-v2"].tokens
  assert tokens(["[MASK]", "a"]) == ["[MASK]", "a"]
  assert tokens(["a"]) == ["a", "[MASK]"]


def _changed(change):
  """The bytes of a model with other fields, of a piece or of a part."""
  where, fields = change
  model = ModelProto.FromString(tiny_pieces("xlm-roberta").proto)
  target = getattr(model, where) if where in _PARTS else model.pieces[where]
  for name, value in fields.items():
    setattr(target, name, value)
  return model.SerializeToString()


_PARTS = TRAINER, NORMALIZER = "trainer_spec", "normalizer_spec"


@pytest.mark.parametrize(
  ("change", "named"),
  [
    ((TRAINER, {"byte_fallback": True}), "byte_fallback"),
    (
      (TRAINER, {"treat_whitespace_as_suffix": True}),
      "treat_whitespace_as_suffix",
    ),
    ((NORMALIZER, {"escape_whitespaces": False}), "escape_whitespaces"),
    ((NORMALIZER, {"precompiled_charsmap": b"abcd"}), "normalization"),
    ((0, {"piece": "<s"}), "xlm-roberta.*'<s'"),
    ((5, {"piece": ""}), "empty"),
    ((5, {"piece": "a"}), "a is already"),
    ((5, {"type": BYTE}), "byte_fallback"),
    ((5, {"piece": "l" * 1001}), "1,000 .*1,001"),
  ],
  ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_other_models_are_refused_by_their_source(change, named):
  with pytest.raises(ValueError, match=rf"spm\.model.*{named}"):
    sentence_pieces(_changed(change), "xlm-roberta", "spm.model")


def test_bytes_of_something_else_are_refused_by_their_source():
  for proto in (b"", b"no model", tiny_pieces("xlm-roberta").proto[:-3]):
    with pytest.raises(ValueError, match=r"spm\.model"):
      sentence_pieces(proto, "xlm-roberta", "spm.model")


def test_a_family_without_its_tokens_or_that_is_unknown_is_refused():
  proto = tiny_pieces("xlm-roberta").proto
  with pytest.raises(ValueError, match=r"a\.model.*deberta-v2.*\['\[CLS\]'"):
    sentence_pieces(proto, "deberta-v2", "a.model")
  with pytest.raises(ValueError, match=r"a\.model.*albert.* bert"):
    sentence_pieces(proto, "bert", "a.model")


def test_a_piece_of_1000_characters_is_the_longest():
  proto = _changed((5, {"piece": "l" * 1000}))
  assert sentence_pieces(proto, "xlm-roberta", "").proto == proto


def test_a_model_lives_on_when_the_caches_of_tensorflow_are_cleared():
  protos = [tiny_pieces(family).proto for family in ("xlm-roberta", "albert")]
  first, second = map(piece_ops, protos)
  expected = first.tokenize(["the mill"]).to_list()
  keras.utils.set_random_seed(1)
  del second
  assert first.tokenize(["the mill"]).to_list() == expected
  assert piece_ops(protos[0]).tokenize(["the mill"]).to_list() == expected


# --- ALBERT.


def test_an_albert_s_model_gets_the_rules_of_its_tokenizer_once():
  model = ModelProto.FromString(tiny_pieces("xlm-roberta").proto)
  del model.pieces[:]
  for name in _ALBERT:
    is_mask = name == "[MASK]"
    model.pieces.add(piece=name, type=USER_DEFINED if is_mask else CONTROL)
  model.pieces[1].type = 2
  model.trainer_spec.unk_id = 1
  model.pieces.add(piece="(", type=USER_DEFINED)
  for piece in ("▁1895,", "▁1895", "a,", ","):
    model.pieces.add(piece=piece, score=-3.0)
  pieces = sentence_pieces(model.SerializeToString(), "albert", "")
  found = {x.piece: (x.score, x.type) for x in parse_model(pieces.proto).pieces}
  assert found["▁1895,"] == (-103, NORMAL)
  for piece in ("▁1895", "a,", ","):
    assert found[piece] == (-3, NORMAL)
  assert (found["("], found["[MASK]"]) == ((0, NORMAL), (0, CONTROL))
  assert sentence_pieces(pieces.proto, "albert", "") == pieces


@pytest.mark.parametrize("lower_case", [True, False])
@pytest.mark.parametrize("keeps_accents", [True, False])
def test_rules_of_case_and_accents_are_in_the_model(lower_case, keeps_accents):
  pieces = tiny_pieces("albert")
  assert pieces.albert_rules == {"do_lower_case": True, "keep_accents": False}
  changed = pieces.with_albert_rules(lower_case, keeps_accents)
  assert changed.albert_rules == {
    "do_lower_case": lower_case,
    "keep_accents": keeps_accents,
  }
  steps = steps_of(parse_model(changed.proto))
  assert steps == albert_normalizer(lower_case, keeps_accents)
  assert steps in ALBERT_NORMALIZERS and changed.tokens == pieces.tokens


def test_a_model_that_normalizes_by_its_own_map_has_no_steps():
  assert steps_of(parse_model(tiny_pieces("xlm-roberta").proto)) is None
