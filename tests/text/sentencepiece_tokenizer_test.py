"""SentencePieceTokenizer: by hand, then as other packages have tokens."""

import base64
import io
import json
import random
import re
import unicodedata

import hypothesis
import keras
import numpy as np
import pytest
import tensorflow as tf
import tokenizers
from hypothesis import strategies as st

from bert_span.presets.tokenizer_json import json_of_sentence_pieces
from bert_span.presets.tokenizer_keys import UNIGRAM_STEPS, albert_steps
from bert_span.presets.vocabulary_files import load_vocabulary
from bert_span.text.sentencepiece_model import (
  ALBERT_NORMALIZERS,
  CONTROL,
  UNKNOWN,
  USER_DEFINED,
  ModelProto,
  albert_normalizer,
  parse_model,
  sentence_pieces,
)
from bert_span.text.sentencepiece_tokenizer import SentencePieceTokenizer
from tests.support.hub import complete_json, tokenizer_json
from tests.support.squad import tokens_in_parts

_DEBERTA_PIECES = {
  "pad_id": 0,
  "bos_id": 1,
  "eos_id": 2,
  "unk_id": 3,
  "pad_piece": "[PAD]",
  "bos_piece": "[CLS]",
  "eos_piece": "[SEP]",
  "unk_piece": "[UNK]",
}
_PIECES = ["▁", "l", "o", "w", "▁low", "▁ti", "de", "日", "本", "▁日"]


def _proto(special=("<unk>", "<s>", "</s>")):
  """The bytes of a model: special tokens, then `_PIECES` of equal scores."""
  model = ModelProto()
  for name in special:
    kind = UNKNOWN if "unk" in name.lower() else CONTROL
    model.pieces.add(piece=name, type=kind)
  for piece in _PIECES:
    model.pieces.add(piece=piece, score=-1.0)
  return model.SerializeToString()


def _tokenizer(family="xlm-roberta", **options):
  pieces = sentence_pieces(_proto(**options), family, "spm.model")
  return SentencePieceTokenizer(*pieces)


def _rows(layer, texts):
  return zip(*tokens_in_parts(layer, texts), strict=True)


def _rows_of_tokens(layer, texts):
  """[(token, char_start, char_end)] of each text."""
  tokens = layer.vocabulary
  return [
    [(tokens[i], *place) for i, *place in zip(*row, strict=True)]
    for row in _rows(layer, texts)
  ]


def _tokens(layer, text):
  (found,) = _rows_of_tokens(layer, [text])
  return found


@pytest.mark.parametrize(
  ("text", "tokens"),
  [
    ("low tide", [("▁low", 0, 3), ("▁ti", 4, 6), ("de", 6, 8)]),
    # Blanks before, between and after words belong to no token.
    ("  low  low ", [("▁low", 2, 5), ("▁low", 7, 10)]),
    # A lone blank has no characters.
    ("本 本", [("▁", 0, 0), ("本", 0, 1), ("▁", 2, 2), ("本", 2, 3)]),
    ("日本", [("▁日", 0, 1), ("本", 1, 2)]),
    # Unknown characters in a row are one token; special tokens are none.
    ("low\U0001f642é", [("▁low", 0, 3), ("<unk>", 3, 5)]),
    ("<s>", [("▁", 0, 0), ("<unk>", 0, 3)]),
    # Invalid UTF-8 counts as a replacement character, unknown here.
    (
      b"low\xff\xfflow",
      [
        *(("▁low", 0, 3), ("<unk>", 3, 5)),
        *(("l", 5, 6), ("o", 6, 7), ("w", 7, 8)),
      ],
    ),
  ],
)
def test_tokens_and_their_offsets(text, tokens):
  assert _tokens(_tokenizer(), text) == tokens


@pytest.mark.parametrize(
  ("family", "special", "ids", "num_separators", "first"),
  [
    ("xlm-roberta", ("<unk>", "<s>", "</s>"), (0, 2, 1, 3), 2, 4),
    ("camembert", ("<unk>", "<s>", "</s>"), (5, 6, 1, 3), 2, 7),
    ("deberta-v2", ("[PAD]", "[CLS]", "[SEP]", "[UNK]"), (1, 2, 0, 3), 1, 4),
  ],
)
def test_each_family_has_its_ids(family, special, ids, num_separators, first):
  layer = _tokenizer(family, special=special)
  cls, sep, pad, unknown = ids
  # The ten pieces after the special ones, of which the last is "▁日".
  assert layer(["日?"]).ids.to_list() == [[first + 9, unknown]]
  assert (layer.cls_id, layer.sep_id, layer.pad_id) == (cls, sep, pad)
  assert layer.num_separators == num_separators


def test_a_batch_may_have_empty_texts_or_none():
  tokenizer = _tokenizer()
  low = tokenizer.vocabulary.index("▁low")
  assert tokenizer(["", "low", " "]).ids.to_list() == [[], [low], []]
  empty = tokenizer(tf.zeros([0], tf.string))
  assert empty.char_ends.to_list() == []


# --- The sentencepiece and the tokenizers package.


_ODD = (
  " \t\n\r'\"stmdrevlabXY019.,!?-_éßœ中文عر\u00a0\u2003\u3000\u200b\u0301"
  "\U0001f600\U0001f468½²٣Ⅷ\x00\x1c\x85\ufeff▁"
)


def _odd_texts(alphabet, number, longest=40):
  generator = random.Random(1)
  return [
    "".join(generator.choices(alphabet, k=generator.randint(0, longest)))
    for _ in range(number)
  ]


@pytest.fixture(scope="module")
def texts(real_texts):
  """500 odd texts, and real ones."""
  return [*_odd_texts(_ODD, 500), *real_texts]


def _train(texts, **options):
  """The bytes of a Unigram model of texts."""
  sentencepiece = pytest.importorskip("sentencepiece")
  content = io.BytesIO()
  sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=iter(texts),
    model_writer=content,
    minloglevel=2,
    **options,
  )
  return content.getvalue()


_ROBERTA_PIECES = {"unk_id": 0, "bos_id": 1, "eos_id": 2}


@pytest.fixture(scope="module")
def trained(real_texts):
  """A model that is normalized as XLM-R's."""
  lines = "\n".join(real_texts).split("\n")
  return _train(lines, vocab_size=3_000, **_ROBERTA_PIECES)


class _Reference:
  """What the sentencepiece package computes, blanks trimmed here."""

  def __init__(self, proto):
    sentencepiece = pytest.importorskip("sentencepiece")
    self.processor = sentencepiece.SentencePieceProcessor(model_proto=proto)
    self.scores = [each.score for each in parse_model(proto).pieces]
    self.scores[0] = min(self.scores) - 10

  def encode(self, text):
    """The pieces of a text, each with its offsets."""
    found = self.processor.encode(text, return_type="offset_mapping")
    tokens = []
    for number, piece, (start, end) in zip(
      *(found[name] for name in ("ids", "pieces", "offsets")), strict=True
    ):
      if not piece.strip("▁"):
        start = end
      else:
        while piece.startswith("▁") and self._is_blank(text[start]):
          start += 1
        end = max(end, start + 1)
      tokens.append((number, start, end))
    return tokens

  def _is_blank(self, character):
    pieces = self.processor.encode(character, return_type=str)
    return not "".join(pieces).strip("▁")

  def is_tie(self, numbers, others):
    """Whether two ways to cut a text have the same score in float32."""
    totals = [sum(self.scores[i] for i in each) for each in (numbers, others)]
    return totals == pytest.approx(totals[::-1], rel=1e-6)


def _piece_numbers(ids):
  """The numbers of pieces, of ids of XLM-R."""
  return [0 if i == 3 else i - 1 for i in ids]


@pytest.fixture(scope="module")
def with_bytes(real_texts):
  """A model as DeBERTa-v3's, which has not all characters of the texts."""
  return _train(
    "\n".join(real_texts[100:]).split("\n"),
    vocab_size=2_000,
    character_coverage=0.98,
    byte_fallback=True,
    **_DEBERTA_PIECES,
  )


@pytest.mark.large
def test_characters_outside_the_vocabulary_have_the_tokens_of_their_bytes(
  texts, with_bytes
):
  layer = SentencePieceTokenizer(*sentence_pieces(with_bytes, "deberta-v2", ""))
  reference, num_bytes, num_ties = _Reference(with_bytes), 0, 0
  for text, (ids, starts, ends) in zip(texts, _rows(layer, texts), strict=True):
    expected = reference.encode(text)
    numbers = [number for number, _, _ in expected]
    if ids != numbers:
      assert reference.is_tie(ids, numbers), text
      num_ties += 1
      continue
    for number, start, end, (_, first, last) in zip(
      ids, starts, ends, expected, strict=True
    ):
      assert start == first, text
      if layer.vocabulary[number].startswith("<0x"):
        num_bytes += 1
        assert start < end, text
        # The package gives the last byte the end of the character.
        assert last <= end, text
      else:
        assert end == last, text
  assert num_bytes > 3_000
  assert num_ties < len(texts) / 50


@pytest.mark.parametrize(
  ("text", "character", "num_bytes", "places"),
  [
    ("ok \U0001f642 ok", "\U0001f642", 4, (3, 4)),
    ("本日", "日", 3, (1, 2)),
    # It is composed first.
    ("ae\u0301a", "\u00e9", 2, (1, 3)),
    # U+2044, a part of what one character is normalized to.
    ("½", "\u2044", 3, (0, 1)),
  ],
)
def test_each_byte_has_the_offsets_of_its_character(
  text, character, num_bytes, places
):
  proto = _train(
    ["ok a 本 1 2"],
    vocab_size=270,
    hard_vocab_limit=False,
    byte_fallback=True,
    **_ROBERTA_PIECES,
  )
  layer = SentencePieceTokenizer(*sentence_pieces(proto, "xlm-roberta", ""))
  expected = [f"<0x{byte:02X}>" for byte in character.encode()]
  assert len(expected) == num_bytes
  found = [token for token in _tokens(layer, text) if token[0] in expected]
  assert found == [(token, *places) for token in expected]


def test_tokenizer_json_may_fall_back_to_bytes(tmp_path, with_bytes):
  vocabulary = sentence_pieces(with_bytes, "deberta-v2", "")
  values = json_of_sentence_pieces(vocabulary)
  path = tmp_path / "tokenizer.json"
  path.write_text(json.dumps(values))
  read = load_vocabulary(str(path), "deberta-v2")
  text = "The mill \U0001f642 \u1234, ½"
  layer = SentencePieceTokenizer(*read)
  ids = layer([text]).ids.to_list()[0]
  assert ids == SentencePieceTokenizer(*vocabulary)([text]).ids.to_list()[0]
  theirs = tokenizers.Tokenizer.from_file(str(path))
  assert theirs.encode(text, add_special_tokens=False).ids == ids
  # As published: the bytes are tokens, but no character falls back to them.
  values["model"]["byte_fallback"] = False
  path.write_text(json.dumps(values))
  layer = SentencePieceTokenizer(*load_vocabulary(str(path), "deberta-v2"))
  ids = layer([text]).ids.to_list()[0]
  assert layer.vocabulary.index("[UNK]") in ids
  theirs = tokenizers.Tokenizer.from_file(str(path))
  assert theirs.encode(text, add_special_tokens=False).ids == ids
  values["model"] |= {"byte_fallback": True}
  values["model"]["vocab"][4] = "<0xZZ>", 0.0
  path.write_text(json.dumps(values))
  with pytest.raises(ValueError, match=r"tokenizer\.json.*<0x00>"):
    load_vocabulary(str(path), "deberta-v2")


# --- Normalizers of tokenizer.json without a map of characters.


@pytest.fixture(scope="module")
def plain(real_texts):
  """A model that normalizes nothing, as the tokenizer.json of a DeBERTa."""
  proto = _train(
    "\n".join(real_texts).split("\n"),
    vocab_size=3_000,
    normalization_rule_name="identity",
    **_DEBERTA_PIECES,
  )
  return json_of_sentence_pieces(sentence_pieces(proto, "deberta-v2", ""))


_HARD = (
  " \t\n\u00a0\u2003\u3000\x85e\u0301a\u0323\u030aéA½ﬁ日本\u212b"
  "\u1112\u1161\u11ab\U0001f600.,X"
)


@pytest.mark.large
@pytest.mark.parametrize("steps", UNIGRAM_STEPS)
def test_steps_of_a_normalizer_give_the_tokens_of_the_tokenizers_package(
  steps, plain, texts, tmp_path
):
  path, sequence = tmp_path / "tokenizer.json", UNIGRAM_STEPS[steps]
  values = plain | {"normalizer": {"type": "Sequence", "normalizers": sequence}}
  path.write_text(json.dumps(values))
  layer = SentencePieceTokenizer(*load_vocabulary(str(path), "deberta-v2"))
  written = json_of_sentence_pieces(layer.full_vocabulary)
  assert written["normalizer"] == values["normalizer"]
  hard = _odd_texts(_HARD, 500, longest=20)
  theirs = tokenizers.Tokenizer.from_file(str(path))
  scores = [score for _, score in values["model"]["vocab"]]
  scores[layer.vocabulary.index("[UNK]")] = min(scores) - 10
  num_ties = 0
  # SentencePiece takes U+2581 at the ends of a text for blanks.
  every = [text for text in (*hard, *texts) if text.strip("▁") == text]
  encodings = theirs.encode_batch(every, add_special_tokens=False)
  for text, (ids, starts, ends), encoding in zip(
    every, _rows(layer, every), encodings, strict=True
  ):
    if ids != encoding.ids:
      ours, other = (sum(scores[i] for i in x) for x in (ids, encoding.ids))
      assert ours == pytest.approx(other, rel=1e-6), text
      num_ties += 1
      continue
    for token, start, end, (first, last) in zip(
      encoding.tokens, starts, ends, encoding.offsets, strict=True
    ):
      if not token.strip("▁"):
        continue
      # All that NFC has joined belongs to each part of it here.
      is_normal = unicodedata.is_normalized("NFC", text[start:end])
      if "NFC" in steps and not is_normal:
        assert start < last <= end, text
      else:
        assert end == last, text
        assert not text[first:start].replace("▁", " ").strip(), text
        assert text[start] not in " ▁", text
  assert num_ties < len(every) / 50


@pytest.mark.parametrize(
  ("text", "tokens"),
  [
    # One blank for several characters of white space, none at the ends.
    (" low\n\u00a0 low\t", [("▁low", 1, 4), ("▁low", 7, 10)]),
    ("low\nlow", [("▁low", 0, 3), ("▁low", 4, 7)]),
    # A single one other than \n, \r, \t is a character of its own.
    ("low\u00a0low", [("▁low", 0, 3), ("<unk>", 3, 4), *"low"]),
    # Joined by NFC: U+304B U+3099 is U+304C.
    ("low\u304b\u3099low", [("▁low", 0, 3), ("が", 3, 5), *"low"]),
    ("\u3099low", [("▁", 0, 0), ("<unk>", 0, 1), *"low"]),
    ("", []),
    (" \n ", []),
  ],
)
def test_the_steps_of_transformers_5(text, tokens):
  model = ModelProto.FromString(_proto())
  model.pieces.add(piece="が", score=-1.0)
  model.normalizer_spec.name = "Replace NFC Strip"
  layer = SentencePieceTokenizer(
    *sentence_pieces(model.SerializeToString(), "xlm-roberta", "")
  )
  found = _tokens(layer, text)
  expected = [
    token if isinstance(token, tuple) else (token, i, i + 1)
    for i, token in enumerate(tokens, len(text) - len(tokens))
  ]
  assert found == expected
  # Whatever else is in the batch.
  rows = layer(["low", text, "", text]).char_ends.to_list()
  assert rows[1] == rows[3] == [end for _, _, end in expected]


def test_other_steps_of_a_normalizer_are_refused(tmp_path):
  path = tmp_path / "tokenizer.json"
  for name, steps in UNIGRAM_STEPS.items():
    for i in range(len(steps)):
      changed = [dict(step) for step in steps]
      changed[i]["content" if "content" in steps[i] else "strip_right"] = "-"
      values = tokenizer_json("Unigram", vocab=[])
      values["pre_tokenizer"] = values["pre_tokenizer"]["pretokenizers"][1]
      values["normalizer"] = {"type": "Sequence", "normalizers": changed}
      path.write_text(json.dumps(values))
      with pytest.raises(ValueError, match=r"tokenizer\.json: .*normalizer"):
        load_vocabulary(str(path), "deberta-v2")
    values["normalizer"]["normalizers"] = steps
    values["pre_tokenizer"] = {"type": "WhitespaceSplit"}
    path.write_text(json.dumps(values))
    with pytest.raises(ValueError, match=r"pre_tokenizer\.type"):
      load_vocabulary(str(path), "deberta-v2")
    assert name


@pytest.fixture(scope="module")
def layer(trained):
  return SentencePieceTokenizer(*sentence_pieces(trained, "xlm-roberta", ""))


@pytest.fixture(scope="module")
def reference(trained):
  return _Reference(trained)


_ANY_TEXT = st.text(
  st.one_of(
    st.characters(exclude_categories=["Cs"]),
    st.sampled_from(" \t\n▁½ﷺe\u0301ａ\u200b\u200dé日が\u3099\x00\ufffd각"),
  ),
  max_size=30,
)


# Reproducible, however slow the machine.
@hypothesis.settings(
  derandomize=True,
  deadline=None,
  max_examples=30,
  suppress_health_check=list(hypothesis.HealthCheck),
)
@hypothesis.given(st.lists(_ANY_TEXT, min_size=4, max_size=12))
def test_any_text_has_the_tokens_of_the_sentencepiece_package(
  reference, layer, texts
):
  for text, (ids, *offsets) in zip(texts, _rows(layer, texts), strict=True):
    found = list(zip(_piece_numbers(ids), *offsets, strict=True))
    expected = reference.encode(text)
    if found != expected:
      numbers = [number for number, _, _ in expected]
      assert reference.is_tie(_piece_numbers(ids), numbers)
    starts, ends = map(np.array, offsets)
    assert np.all(starts <= ends), text
    assert np.all(np.diff(starts) >= 0), text
    assert np.all(np.diff(ends) >= 0), text
    assert not len(ends) or ends[-1] <= len(text)


@pytest.mark.parametrize("family", ["xlm-roberta", "camembert"])
def test_a_tokenizer_json_that_is_written_has_the_same_tokens(
  trained, texts, tmp_path, family
):
  vocabulary = sentence_pieces(trained, family, "")
  path = tmp_path / "tokenizer.json"
  path.write_text(json.dumps(json_of_sentence_pieces(vocabulary)))
  layer = SentencePieceTokenizer(*vocabulary)
  read = load_vocabulary(str(path), family)
  assert read.tokens == layer.vocabulary
  some = texts[500::20]
  again = SentencePieceTokenizer(*read)(some)
  assert again.ids.to_list() == layer(some).ids.to_list()


# --- ALBERT: quotes, case and marks, with exact offsets.

_SPECIAL = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
_USER_DEFINED = [*'()"-.–£€']
_ALBERT_PIECES = [
  *("▁", *"abcefilnorstu158,2’"),
  *("▁the", "▁1895,", "▁cafe", "▁cafes", "⁄", "▁1895", "A"),
]


def _albert_proto():
  """The bytes of a model as the released ones, but small."""
  model = ModelProto()
  for token in _SPECIAL:
    model.pieces.add(piece=token, type=UNKNOWN if token == "<unk>" else CONTROL)
  model.trainer_spec.unk_id = 1
  for token in _USER_DEFINED:
    model.pieces.add(piece=token, type=USER_DEFINED)
  for token in _ALBERT_PIECES:
    model.pieces.add(piece=token, score=-3.0)
  return model.SerializeToString()


def _albert(*rules):
  pieces = sentence_pieces(_albert_proto(), "albert", "")
  if rules:
    pieces = pieces.with_albert_rules(*rules)
  return SentencePieceTokenizer(*pieces)


@pytest.mark.parametrize(
  ("text", "tokens"),
  [
    ("The CAFÉ", [("▁the", 0, 3), ("▁cafe", 4, 8)]),
    # The marks that a letter loses belong to it.
    ("cafe\u0301", [("▁cafe", 0, 5)]),
    ("cafe\u0301\u0323s", [("▁cafes", 0, 7)]),
    # Two quotes are one character with the offsets of both.
    ("``a''", [("▁", 0, 0), ('"', 0, 2), ("a", 2, 3), ('"', 3, 5)]),
    ("'''", [("▁", 0, 0), ('"', 0, 2), ("<unk>", 2, 3)]),
    ("'`", [("▁", 0, 0), ("<unk>", 0, 2)]),
    ("''''", [("▁", 0, 0), ('"', 0, 2), ('"', 2, 4)]),
    ("' '", [("▁", 0, 0), ("<unk>", 0, 1), ("▁", 2, 2), ("<unk>", 2, 3)]),
    # NFKD makes several characters of one; each has the offsets of all.
    (
      "½ ﬁ",
      [
        *(("▁", 0, 0), ("1", 0, 1), ("⁄", 0, 1), ("2", 0, 1)),
        *(("▁", 2, 2), ("f", 2, 3), ("i", 2, 3)),
      ],
    ),
    # A number and its comma are two tokens.
    ("1895, a", [("▁1895", 0, 4), (",", 4, 5), ("▁", 6, 6), ("a", 6, 7)]),
    (
      "(the)",
      [
        *(("▁", 0, 0), ("(", 0, 1), ("t", 1, 2), ("<unk>", 2, 3)),
        *(("e", 3, 4), (")", 4, 5)),
      ],
    ),
    # All white space is one blank, and none at the ends. "¨" is one, too.
    (
      " the \t\n\x85 the¨the ",
      [("▁the", 1, 4), ("▁the", 9, 12), ("▁the", 13, 16)],
    ),
    ("İA", [("▁", 0, 0), ("i", 0, 1), ("a", 1, 2)]),
    # A final sigma is as any other.
    ("ΟΔΟΣ", [("▁", 0, 0), ("<unk>", 0, 4)]),
    ("", []),
    (" ", []),
  ],
)
def test_albert_s_tokens_and_their_offsets(text, tokens):
  # Whatever else is in the batch.
  found = _rows_of_tokens(_albert(), ["the", text, ""])
  assert found == [[("▁the", 0, 3)], tokens, []]


def test_special_tokens_are_ordinary_characters_of_an_albert():
  layer = _albert()
  found = {token for token, *_ in _tokens(layer, "[CLS]")}
  assert found.isdisjoint(_SPECIAL[2:])
  assert layer.vocabulary == [*_SPECIAL, *_USER_DEFINED, *_ALBERT_PIECES]
  assert (layer.cls_id, layer.sep_id, layer.pad_id) == (2, 3, 0)
  assert layer.num_separators == 1


@pytest.mark.parametrize(
  ("rules", "tokens"),
  [
    ((True, False), ["▁", "a", "▁cafe"]),
    ((False, False), ["▁", "A", "▁cafe"]),
    ((True, True), ["▁", "a", "▁", "c", "a", "f", "<unk>"]),
    ((False, True), ["▁", "A", "▁", "c", "a", "f", "<unk>"]),
  ],
)
def test_case_and_accents_are_kept_where_the_model_keeps_them(
  rules, tokens, tmp_path
):
  layer = _albert(*rules)
  found = _tokens(layer, "A café")
  assert [token for token, *_ in found] == tokens
  assert layer.do_lower_case == rules[0]
  copy = keras.saving.deserialize_keras_object(
    keras.saving.serialize_keras_object(layer)
  )
  assert _tokens(copy, "A café") == found
  # A tokenizer.json has the steps.
  values = json_of_sentence_pieces(layer.full_vocabulary)
  steps = albert_steps(albert_normalizer(*rules))
  assert values["normalizer"]["normalizers"] == steps
  path = tmp_path / "tokenizer.json"
  path.write_text(json.dumps(values))
  read = SentencePieceTokenizer(*load_vocabulary(str(path), "albert"))
  assert _tokens(read, "A café") == found
  assert read.vocabulary == layer.vocabulary


@pytest.mark.parametrize(
  ("changes", "key"),
  [
    ({"normalizer": [0, 1, 3, 2]}, "normalizer"),
    ({"normalizer": [0, 2, 3, 4]}, "normalizer"),
    ({"unk_id": 3}, "unk_id"),
    ({"pre_tokenizer": {"type": "WhitespaceSplit"}}, r"pre_tokenizer\.type"),
    # Without a map of characters, it would leave tabs in words.
    ({"is_metaspace": True}, r"pre_tokenizer\.type"),
  ],
)
def test_other_steps_of_an_albert_are_refused_by_name(tmp_path, changes, key):
  values = json_of_sentence_pieces(
    sentence_pieces(_albert_proto(), "albert", "")
  )
  steps = values["normalizer"]["normalizers"]
  if "normalizer" in changes:
    steps = [steps[i] for i in changes["normalizer"]]
    values["normalizer"]["normalizers"] = steps
  values["model"]["unk_id"] = changes.get("unk_id", 1)
  if "pre_tokenizer" in changes:
    values["pre_tokenizer"] = changes["pre_tokenizer"]
  if "is_metaspace" in changes:
    values["pre_tokenizer"] = values["pre_tokenizer"]["pretokenizers"][1]
  path = tmp_path / "tokenizer.json"
  path.write_text(json.dumps(values))
  with pytest.raises(ValueError, match=rf"tokenizer\.json: .*{key}"):
    load_vocabulary(str(path), "albert")


_ALBERT_ODD = (
  " \t\n\r'\"``''stmdrevlabeXY019.,!?-_éßœÀ中文عرًـ\u00a0\u2003\u3000\u200b"
  "\u0301\u0323\U0001f600\U0001f468½²٣Ⅷ\x00\x1c\x85\ufeff(£€–)¨´ﬁİΣǅ\u212b"
)


def _albert_text(text):
  """What the preprocessing of an ALBERT's training makes of a text."""
  # Python also splits at separators that Unicode does not call white space.
  text = " ".join(re.split(r"[^\S\x1c-\x1f]+", text)).strip()
  text = text.replace("``", '"').replace("''", '"')
  text = unicodedata.normalize("NFKD", text)
  text = "".join(c for c in text if unicodedata.category(c)[0] != "M")
  return "".join(c.lower() for c in text)


@pytest.fixture(scope="module")
def albert_trained(real_texts):
  """The bytes of a model that is trained as the released ones."""
  return _train(
    dict.fromkeys(map(_albert_text, real_texts)),
    vocab_size=3_000,
    max_sentence_length=100_000,
    pad_id=0,
    unk_id=1,
    bos_id=-1,
    eos_id=-1,
    control_symbols=_SPECIAL[2:],
    user_defined_symbols=_USER_DEFINED,
  )


def _compare(layer, texts, expected, scores):
  """Compares ids; two ways to cut a text may have the same score."""
  num_ties = 0
  for text, ids, theirs in zip(
    texts, tokens_in_parts(layer, texts)[0], expected, strict=True
  ):
    if ids != theirs:
      ours, other = (sum(scores[i] for i in x) for x in (ids, theirs))
      assert ours == pytest.approx(other, rel=1e-6), (
        text,
        [layer.vocabulary[i] for i in ids],
        [layer.vocabulary[i] for i in theirs],
      )
      num_ties += 1
  assert num_ties < len(texts) / 8


@pytest.mark.large
# added_tokens_test.py has the first.
@pytest.mark.parametrize("name", ALBERT_NORMALIZERS[1:])
def test_a_tokenizer_json_of_an_albert_gives_the_tokens_of_the_package(
  name, albert_trained, real_texts, tmp_path
):
  model = ModelProto.FromString(albert_trained)
  charsmap = model.normalizer_spec.precompiled_charsmap
  precompiled = {
    "type": "Precompiled",
    "precompiled_charsmap": base64.b64encode(charsmap).decode(),
  }
  scores = [
    x.score - 100 * bool(re.search(r"\d,$", x.piece)) for x in model.pieces
  ]
  tokens = [x.piece for x in model.pieces]
  vocab = list(zip(tokens, scores, strict=True))
  values = tokenizer_json("Unigram", vocab=vocab, unk_id=1)
  steps = [*albert_steps(name), precompiled]
  values["normalizer"] = {"type": "Sequence", "normalizers": steps}
  values["post_processor"] = {
    "type": "BertProcessing",
    "sep": ["[SEP]", 3],
    "cls": ["[CLS]", 2],
  }
  ids = {token: i for i, token in enumerate(tokens)}
  values = complete_json(values, ids, [])
  path = tmp_path / "tokenizer.json"
  path.write_text(json.dumps(values))
  layer = SentencePieceTokenizer(*load_vocabulary(str(path), "albert"))
  written = json_of_sentence_pieces(layer.full_vocabulary)
  assert written["normalizer"] == values["normalizer"]
  odd = _odd_texts(_ALBERT_ODD, 1_000)
  if "StripAccents" not in name:
    # The package may map a character and the marks after it as one.
    odd = [x for x in odd if not {*"\u064b\u0301\u0323"} & {*x}]
  texts = [*odd, *real_texts, *(text.upper() for text in real_texts)]
  theirs = tokenizers.Tokenizer.from_file(str(path))
  encodings = theirs.encode_batch(texts, add_special_tokens=False)
  scores[1] = min(scores) - 10
  _compare(layer, texts, [x.ids for x in encodings], scores)
