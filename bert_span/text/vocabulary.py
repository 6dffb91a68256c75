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


class AddedToken(NamedTuple):
  """A token that is found in texts before these are tokenized.

  The fields are those of the tokenizers library's AddedToken.
  """

  content: str
  single_word: bool = False  # only where no other character of a word is beside
  lstrip: bool = False  # with the white space before it
  rstrip: bool = False  # with the white space after it
  normalized: bool = False  # in normalized text, as its content is normalized


class ExtendedVocabulary(NamedTuple):
  """A vocabulary and its added tokens.

  Those that `vocabulary` lacks have the ids after its tokens, in their order.
  """

  vocabulary: "list[str] | NamedTuple"  # of any kind
  added_tokens: tuple[AddedToken, ...]

  @property
  def tokens(self):
    """List of tokens; the index is the id."""
    tokens = getattr(self.vocabulary, "tokens", self.vocabulary)
    return with_added_contents(tokens, self.added_tokens)


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


def with_added_contents(tokens, added_tokens):
  """Returns a list of tokens, and the added ones that it lacks after them."""
  known = {*tokens}
  contents = dict.fromkeys(token.content for token in added_tokens)
  return [*tokens, *(content for content in contents if content not in known)]


def extended(vocabulary, added_tokens, source):
  """Returns a vocabulary with added tokens.

  Args:
    vocabulary: as `load_vocabulary` has it.
    added_tokens: pairs of an `AddedToken` and its id, None if no file says it.
    source: what says so, for messages.

  Returns:
    An `ExtendedVocabulary`; the vocabulary if nothing is added.

  Raises:
    ValueError: an id is not that of the token.
  """
  if not added_tokens:
    return vocabulary
  result = ExtendedVocabulary(
    vocabulary, tuple(token for token, _ in added_tokens)
  )
  ids = {token: i for i, token in enumerate(result.tokens)}
  for token, received in added_tokens:
    expected = ids[token.content]
    if received not in (None, expected):
      raise ValueError(
        f"{source}: the id of the added token {token.content!r} must be "
        f"{expected}, its row in the vocabulary or the next one after it. "
        f"Received: {received}. Use the files of one model."
      )
  return result


def split_vocabulary(vocabulary):
  """Returns a vocabulary without its added tokens, and these."""
  if isinstance(vocabulary, ExtendedVocabulary):
    return vocabulary
  return ExtendedVocabulary(vocabulary, ())


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
  if isinstance(tokens, ExtendedVocabulary):
    raise ValueError(
      f"{source} has added tokens, such as {tokens.added_tokens[0].content!r}, "
      "which are not found in texts here. Use the vocab.txt of the model."
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
  return kinds.get(type(split_vocabulary(vocabulary).vocabulary), WORD_PIECES)


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
