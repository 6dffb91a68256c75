"""Vocabularies: WordPieces, byte pairs, or SentencePieces."""

import collections
import hashlib
import re
from typing import NamedTuple

from bert_span.text.sentencepiece_model import SentencePieces

UNKNOWN_TOKEN = "[UNK]"
CLS_TOKEN = "[CLS]"
SEP_TOKEN = "[SEP]"
# The kinds of vocabularies; messages use these words.
WORD_PIECES = "WordPieces"
BYTE_PAIRS = "byte pairs"
MODERNBERT_PAIRS = "byte pairs of ModernBERT"
SENTENCE_PIECES = "SentencePieces"
_MAX_TOKEN_BYTES = 256  # of a WordPiece without ##


class WordPieces(NamedTuple):
  """WordPieces of an unusual `WordPieceTokenizer`, whose arguments they are.

  Those of the usual one are a list of tokens.
  """

  tokens: list[str]
  keeps_accents: bool = False
  joins_chinese: bool = False


class BytePairs(NamedTuple):
  """The vocabulary of a `BytePairTokenizer`; the fields are its arguments."""

  tokens: list[str]
  merges: list[str]


class ModernBertPairs(NamedTuple):
  """The vocabulary of a `ModernBertTokenizer`; the fields are its arguments."""

  tokens: list[str]
  merges: list[str]
  added_tokens: list[str]


def check_merges(merges, path):
  """Raises ValueError unless each merge of a list is two tokens."""
  for merge in merges:
    if not (isinstance(merge, str) and re.fullmatch("[^ ]+ [^ ]+", merge)):
      raise ValueError(
        f"{path}: a merge must be two tokens with a space between them. "
        f"Received: {merge!r:.80}. Use the merges that belong to the model."
      )


def check_vocabulary(tokens, source="the vocabulary"):
  """Raises ValueError if a special token is missing or a token is repeated."""
  kind = vocabulary_kind(tokens)
  if kind != WORD_PIECES:
    raise ValueError(
      f"{source} has {kind}; only WordPieces can be used for this. Use the "
      "vocab.txt of a BERT model."
    )
  if isinstance(tokens, WordPieces):
    raise ValueError(
      f"{source} is that of a tokenizer which keeps accents in lower-cased "
      "text or joins Chinese characters, and cannot be used for this. Use the "
      "vocab.txt of another model."
    )
  required = (UNKNOWN_TOKEN, CLS_TOKEN, SEP_TOKEN)
  missing = [token for token in required if token not in tokens]
  if missing:
    raise ValueError(
      f"{source} lacks {', '.join(missing)} among its {len(tokens)} tokens. "
      "It must be the vocab.txt of a BERT model, with one token a line."
    )
  # tensorflow-text can look for tokens up to this size.
  sizes = [len(token.removeprefix("##").encode()) for token in tokens]
  if max(sizes) > _MAX_TOKEN_BYTES:
    longest = tokens[sizes.index(max(sizes))]
    raise ValueError(
      f"{source}: a token can have {_MAX_TOKEN_BYTES} bytes. Received one of "
      f"{len(longest):,} characters: {longest:.20}... Use the vocab.txt of a "
      "BERT model."
    )
  (token, count), *_ = collections.Counter(tokens).most_common(1)
  if count > 1:
    raise ValueError(
      f"{source} contains the token {token!r} more than once, so its id is "
      "ambiguous. Use the vocabulary that belongs to the checkpoint."
    )


def vocabulary_kind(vocabulary):
  """Returns the kind of a vocabulary; `WORD_PIECES` for a list of tokens."""
  kinds = {
    BytePairs: BYTE_PAIRS,
    ModernBertPairs: MODERNBERT_PAIRS,
    SentencePieces: SENTENCE_PIECES,
  }
  return kinds.get(type(vocabulary), WORD_PIECES)


def is_cased(vocabulary):
  """Returns whether over 1 % of the tokens have capitals, as in cased models.

  Tokens in brackets, such as [CLS] and [unused1], do not count.
  """
  tokens = getattr(vocabulary, "tokens", vocabulary)
  upper = [t for t in tokens if t != t.lower() and not t.startswith("[")]
  return 100 * len(upper) > len(tokens)


def vocabulary_sha256(tokens):
  """Returns the SHA-256 of the tokens, one a line, in hexadecimal digits."""
  return hashlib.sha256("\n".join(tokens).encode("utf-8")).hexdigest()
