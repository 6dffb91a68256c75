"""Added tokens: by hand, then as the tokenizers package finds them."""

import json
import random
import re
import unicodedata

import keras
import pytest
import tensorflow as tf
import tokenizers

from bert_span.text.byte_pair_tokenizer import BYTES, BytePairTokenizer
from bert_span.text.modernbert_tokenizer import ModernBertTokenizer
from bert_span.text.sentencepiece_model import BLANK, parse_model
from bert_span.text.sentencepiece_tokenizer import SentencePieceTokenizer
from bert_span.text.tokenizer import WordPieceTokenizer
from bert_span.text.vocabulary import AddedToken
from tests.support.models import trained_pieces
from tests.support.squad import tokens_in_parts

_WORD_PIECES = [
  *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "##a", "##b"),
  *("##c", "zoe", "q", "[", "]", ".", "日", "Zoe", "Q"),
]
# Of every kind, and in every way; some begin as others, or are in them.
_ADDED = [
  AddedToken("[Q]"),
  AddedToken("[Q]x"),
  AddedToken("<e1>", normalized=True),
  AddedToken("ab", single_word=True),
  AddedToken("covid", single_word=True, normalized=True),
  AddedToken("left", lstrip=True),
  AddedToken("Right", rstrip=True),
  AddedToken("both", lstrip=True, rstrip=True, single_word=True),
  AddedToken("Beside", lstrip=True, rstrip=True, normalized=True),
  AddedToken("Zoë", normalized=True),
  AddedToken("İx", normalized=True),
  AddedToken("日本", normalized=True),
  AddedToken("中"),
  AddedToken("two words", normalized=True),
  AddedToken("½x"),
  AddedToken("\U0001f600", normalized=True),
]


_PIECES = "xlm-roberta", "camembert", "deberta-v2", "albert"


def _tokens(tokenizer, *texts):
  """[(token, char_start, char_end)] of each text."""
  columns = [x.to_list() for x in tokenizer(list(texts))]
  return [
    [
      (tokenizer.vocabulary[i], *offsets)
      for i, *offsets in zip(*row, strict=True)
    ]
    for row in zip(*columns, strict=True)
  ]


@pytest.mark.parametrize(
  ("token", "text", "expected"),
  [
    # What is between is a text of its own; [UNK] is that of "[Q".
    (
      AddedToken("[Q]"),
      "a[Q]b [Q] [q]",
      [
        *(("a", 0, 1), ("[Q]", 1, 4), ("b", 4, 5), ("[Q]", 6, 9)),
        *(("[", 10, 11), ("q", 11, 12), ("]", 12, 13)),
      ],
    ),
    (
      AddedToken("Q", normalized=True),
      "q[Q]",
      [("Q", 0, 1), ("[", 1, 2), ("Q", 2, 3), ("]", 3, 4)],
    ),
    (
      AddedToken("x", single_word=True),
      "x ax é x_ .x",
      [
        *(("x", 0, 1), ("[UNK]", 2, 4), ("[UNK]", 5, 6), ("[UNK]", 7, 8)),
        *(("[UNK]", 8, 9), (".", 10, 11), ("x", 11, 12)),
      ],
    ),
    (
      AddedToken("x", lstrip=True),
      " x  xa\u3000x ",
      [("x", 0, 2), ("x", 2, 5), ("a", 5, 6), ("x", 6, 8)],
    ),
    (
      AddedToken("x", rstrip=True),
      " x  x a",
      [("x", 1, 4), ("x", 4, 6), ("a", 6, 7)],
    ),
    # In normalized text: lower case, without accents.
    (
      AddedToken("Zoë", normalized=True),
      "ZOE zoe\u0308a Zo",
      [("Zoë", 0, 3), ("Zoë", 4, 8), ("a", 8, 9), ("[UNK]", 10, 12)],
    ),
    # There blanks are around Chinese characters.
    (
      AddedToken("日b", normalized=True),
      "a日b日 b",
      [("a", 0, 1), ("日b", 1, 3), ("日", 3, 4), ("b", 5, 6)],
    ),
    (AddedToken("a b", normalized=True), "A\tb", [("a b", 0, 3)]),
  ],
)
def test_tokens_and_their_offsets(token, text, expected):
  tokenizer = WordPieceTokenizer(_WORD_PIECES, added_tokens=[token])
  assert tokenizer.vocabulary_size() == len({*_WORD_PIECES, token.content})
  assert _tokens(tokenizer, text) == [expected]
  # Texts of a batch do not meet.
  assert _tokens(tokenizer, "", text, "a", text) == [
    *([], expected, [("a", 0, 1)], expected),
  ]


def test_the_leftmost_and_then_the_longest_counts():
  added = [AddedToken("ab"), AddedToken("abc"), AddedToken("bca")]
  tokenizer = WordPieceTokenizer(_WORD_PIECES, added_tokens=added)
  assert _tokens(tokenizer, "abca") == [[("abc", 0, 3), ("a", 3, 4)]]
  assert _tokens(tokenizer, "bcab") == [[("bca", 0, 3), ("b", 3, 4)]]


@pytest.mark.large
def test_batches_without_text():
  added = [AddedToken("ab"), AddedToken("c", normalized=True, lstrip=True)]
  for tokenizer in _of_every_kind(added):
    assert tokenizer(tf.zeros([0], tf.string)).ids.to_list() == []
    assert tokenizer(["", ""]).char_ends.to_list() == [[], []]
    # Nothing is left between them.
    assert _tokens(tokenizer, "abc") == [[("ab", 0, 2), ("c", 2, 3)]]


@pytest.mark.large
def test_config_rebuilds_the_layer():
  for tokenizer in _of_every_kind(_ADDED, families=["albert"]):
    written = json.loads(
      json.dumps(keras.saving.serialize_keras_object(tokenizer))
    )
    copy = keras.saving.deserialize_keras_object(written)
    text = "a[Q]b <e1> zoe 日本"
    assert _tokens(copy, text) == _tokens(tokenizer, text)
    assert copy.full_vocabulary == tokenizer.full_vocabulary


def test_a_token_that_the_vocabulary_has_keeps_its_id():
  tokenizer = WordPieceTokenizer(
    _WORD_PIECES, added_tokens=[AddedToken("c"), AddedToken("d")]
  )
  (ids,) = tokenizer(["acad"]).ids.to_list()
  a, c = map(_WORD_PIECES.index, "ac")
  assert ids == [a, c, a, len(_WORD_PIECES)]
  assert tokenizer.vocabulary[-1] == "d"


def _of_every_kind(added, families=("xlm-roberta", "deberta-v2", "albert")):
  pairs = ["<s>", "</s>", "<pad>", "[CLS]", "[SEP]", "[PAD]", *BYTES]
  yield WordPieceTokenizer(_WORD_PIECES, added_tokens=added)
  yield BytePairTokenizer(pairs, [], added_tokens=added)
  yield ModernBertTokenizer(pairs, [], added)
  for family in families:
    yield SentencePieceTokenizer(*trained_pieces(family), added)


# What SentencePiece and the tokenizers package divide in different ways.
_ODD = (
  *("\x00", "\x85", "\ufeff", "\u200b", "\u200d", "\u0301", "\u1100\u1161"),
  *("\u2581", "각", "ﾟ", "ﬁ", "\u2003", "\u3000"),
)


def _texts(has_odd):
  """Texts of added tokens beside letters, blanks, accents and others."""
  generator = random.Random(3)
  contents = [token.content for token in _ADDED]
  words = [
    *contents * 3,
    *(content.upper() for content in contents),
    *(content.lower() for content in contents),
    *" \t\n'\"stmabcABCeéÉßœx.,!?-_[]<>12中文عر½",
    *("  ", "   ", "\u00a0", "＜ｅ１＞", "covid19", "Ⓐ", "Ⅷ", "\U0001f468"),
    *("İ", "ı", "two  words", "tWO\n"),
  ]
  if has_odd:
    # And letters whose case and marks are unusual.
    words += [*_ODD, *map(chr, range(0xC0, 0x250)), "ẞ", "Ёлка", "İ\u0307"]
    words += [unicodedata.normalize("NFD", content) for content in contents]
  return [
    "".join(generator.choices(words, k=generator.randint(0, 14)))
    for _ in range(400)
  ]


def _word_piece_pair(texts, lower_case, keeps_accents=False, joins=False):
  """A tokenizer of ours and one of the tokenizers package."""
  characters = {
    c
    for text in texts
    for part in (text, unicodedata.normalize("NFD", text))
    for c in (*part, *part.lower(), *(x for y in part for x in y.lower()))
    if c.strip() and unicodedata.category(c)[0] != "C"
  }
  vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
  vocabulary += [x for c in sorted(characters) for x in (c, f"##{c}")]
  theirs = tokenizers.BertWordPieceTokenizer(
    {token: i for i, token in enumerate(vocabulary)},
    lowercase=lower_case,
    strip_accents=lower_case and not keeps_accents,
    handle_chinese_chars=not joins,
  )
  ours = WordPieceTokenizer(
    vocabulary, lower_case, keeps_accents, joins, added_tokens=_ADDED
  )
  return ours, theirs


def _byte_pair_pair(texts, has_nfc):
  theirs = tokenizers.Tokenizer(tokenizers.models.BPE())
  if has_nfc:
    theirs.normalizer = tokenizers.normalizers.NFC()
  theirs.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(
    add_prefix_space=False
  )
  special = ["<s>", "</s>", "<pad>", "[CLS]", "[SEP]", "[PAD]"]
  trainer = tokenizers.trainers.BpeTrainer(
    vocab_size=600,
    show_progress=False,
    initial_alphabet=[*BYTES],
    special_tokens=special,
  )
  theirs.train_from_iterator(texts[:400], trainer)
  theirs.post_processor = tokenizers.processors.ByteLevel(
    add_prefix_space=False, trim_offsets=True
  )
  ids = theirs.get_vocab()
  merges = json.loads(theirs.to_str())["model"]["merges"]
  merges = [" ".join(merge) for merge in merges]
  kind = ModernBertTokenizer if has_nfc else BytePairTokenizer
  tokens = sorted(ids, key=ids.get)
  return kind(tokens, merges, added_tokens=_ADDED), theirs


def _piece_pair(texts, family):
  vocabulary = trained_pieces(family, tuple(texts[:400]))
  ours = SentencePieceTokenizer(*vocabulary, _ADDED)
  model = parse_model(vocabulary.proto)
  tokens = vocabulary.tokens
  scores = {each.piece: each.score for each in model.pieces}
  pairs = [(token, scores.get(token, 0.0)) for token in tokens]
  theirs = tokenizers.Tokenizer(
    tokenizers.models.Unigram(
      pairs,
      unk_id=ours.vocabulary.index(
        "[UNK]" if family == "deberta-v2" else "<unk>"
      ),
    )
  )
  normalizers, splits = tokenizers.normalizers, tokenizers.pre_tokenizers
  charsmap = normalizers.Precompiled(model.normalizer_spec.precompiled_charsmap)
  blanks = splits.Metaspace(replacement=BLANK, prepend_scheme="always")
  if family == "deberta-v2":
    one_blank = normalizers.Replace(tokenizers.Regex(" {2,}"), " ")
    theirs.normalizer = normalizers.Sequence(
      [normalizers.Strip(), charsmap, one_blank]
    )
    theirs.pre_tokenizer = blanks
  else:
    theirs.normalizer = charsmap
    if family == "albert":
      quotes = [normalizers.Replace(x, '"') for x in ("``", "''")]
      steps = normalizers.NFKD(), normalizers.StripAccents()
      theirs.normalizer = normalizers.Sequence(
        [*quotes, *steps, normalizers.Lowercase(), charsmap]
      )
    theirs.pre_tokenizer = splits.Sequence([splits.WhitespaceSplit(), blanks])
  return ours, theirs


_KINDS = {
  "uncased": lambda texts: _word_piece_pair(texts, True),
  "cased": lambda texts: _word_piece_pair(texts, False),
  "accents": lambda texts: _word_piece_pair(texts, True, True),
  "joined Chinese": lambda texts: _word_piece_pair(texts, True, False, True),
  "byte pairs": lambda texts: _byte_pair_pair(texts, False),
  "NFC": lambda texts: _byte_pair_pair(texts, True),
  "xlm-roberta": lambda texts: _piece_pair(texts, "xlm-roberta"),
  "camembert": lambda texts: _piece_pair(texts, "camembert"),
  "deberta-v2": lambda texts: _piece_pair(texts, "deberta-v2"),
  "albert": lambda texts: _piece_pair(texts, "albert"),
}


def _differences(kind, texts):
  """Texts with other ids, and those with other offsets, than the package has.

  Also those in which other added tokens are found.
  """
  ours, theirs = _KINDS[kind](texts)
  theirs.add_tokens(
    [tokenizers.AddedToken(**token._asdict()) for token in _ADDED]
  )
  added = {ours.token_to_id(token.content) for token in _ADDED}
  assert added == {theirs.token_to_id(token.content) for token in _ADDED}
  blank = ours.vocabulary.index(BLANK) if BLANK in ours.vocabulary else None
  columns = tokens_in_parts(ours, texts)
  encodings = theirs.encode_batch(texts, add_special_tokens=False)
  of_ids, of_offsets, of_added = [], [], []
  for text, encoding, ids, starts, ends in zip(
    texts, encodings, *columns, strict=True
  ):
    found = list(zip(ids, starts, ends, strict=True))
    tokens, offsets = encoding.tokens, encoding.offsets
    expected = [(i, *x) for i, x in zip(encoding.ids, offsets, strict=True)]
    if ids != encoding.ids:
      of_ids.append(text)
    # A lone blank has no character here.
    elif [x for x in found if x[0] != blank] != [
      (x[0], *_without_blank(text, token, *x[1:]))
      for x, token in zip(expected, tokens, strict=True)
      if x[0] != blank
    ]:
      of_offsets.append(text)
    if [x for x in found if x[0] in added] != [
      x for x in expected if x[0] in added
    ]:
      of_added.append(text)
  return of_ids, of_offsets, of_added


def _without_blank(text, token, start, end):
  """The offsets of a token without the blanks that it begins with."""
  if token.startswith(BLANK):
    # U+FFFD is a blank for SentencePiece.
    while start < end - 1 and (
      text[start].isspace() or text[start] == "\ufffd"
    ):
      start += 1
  return start, end


def _is_compared(kind, text):
  """Whether the offsets in a text are the package's.

  It leaves out the marks of a letter, so that an answer could end between a
  letter and its accent. And the white space beside a token can be a blank that
  it puts beside a Chinese character, whose offset it then is. Of two quotes
  that become one character it has the offset of the second.
  """
  has_marks = any(unicodedata.category(c) == "Mn" for c in text)
  if kind == "albert":
    return not (has_marks or re.search("''|``", text))
  if kind in (*_PIECES, "byte pairs"):
    return True
  if re.search(r"(?i)[一-鿿]\W*beside|beside\W*[一-鿿]", text):
    return False
  return kind in ("cased", "accents") or not (has_marks or "\u1161" in text)


@pytest.mark.large
@pytest.mark.parametrize("kind", _KINDS)
def test_they_are_those_of_the_tokenizers_package(kind, real_texts):
  texts = _texts(kind not in _PIECES)
  generator = random.Random(5)
  contents = [token.content for token in _ADDED]
  for text in real_texts:
    # A token is put in some places.
    parts = re.split("( )", text)
    for place in generator.sample(range(len(parts)), min(4, len(parts))):
      parts[place] += generator.choice(contents)
    texts.append("".join(parts))
  _check(kind, texts)


def _check(kind, texts):
  if kind in _PIECES:
    # <s> is a piece of the package's, and it has blanks without characters. Its
    # "ix" may begin within what Ⅷ becomes.
    texts = [re.sub("<s>|Ⅷ(?=[xX])", "", text) for text in texts]
    texts = [
      "".join(c for c in text if unicodedata.category(c) != "Cf")
      for text in texts
    ]
  of_ids, of_offsets, of_added = _differences(kind, texts)
  assert not of_ids[:5]
  others = [x for x in of_offsets + of_added if _is_compared(kind, x)]
  assert not others[:5]
  assert len(of_offsets) < len(texts) / 5
