"""Vocabularies: WordPieces, one a line, byte pairs, or SentencePieces."""

import collections
import hashlib
import os
import re
from typing import NamedTuple

from bert_span.options.messages import shortened
from bert_span.storage.files import (
  gfile,
  read_bytes,
  read_json_object,
  read_text,
)
from bert_span.text.sentencepiece_model import (
  SentencePieces,
  sentence_pieces,
  sentence_pieces_of_json,
)
from bert_span.text.tokenizer_keys import check_json

UNKNOWN_TOKEN = "[UNK]"
CLS_TOKEN = "[CLS]"
SEP_TOKEN = "[SEP]"
# The kinds of vocabularies; messages use these words.
WORD_PIECES = "WordPieces"
BYTE_PAIRS = "byte pairs"
SENTENCE_PIECES = "SentencePieces"


_MAX_TOKEN_BYTES = 256  # of a WordPiece without ##
# A token that can be written as a line and read again.
_LINE = re.compile(r"(?!\s)[^\n\ud800-\udfff]+(?<!\s)")
# Names of SentencePiece models in directories of Hugging Face and KerasHub.
PIECE_FILES = "sentencepiece.bpe.model", "spm.model", "spiece.model"
_PIECE_ENDINGS = ".model", ".spm"


class BytePairs(NamedTuple):
  """The vocabulary of a `BytePairTokenizer`; the fields are its arguments."""

  tokens: list[str]
  merges: list[str]


def load_vocabulary(path, architecture="bert"):
  """Returns the list of tokens in a vocab.txt, local or remote.

  White space around a token is dropped, as in run_squad. The path may also be
  the tokenizer.json of a Hugging Face directory, or a vocab.json with a
  merges.txt beside it: `BytePairs` if the model is RoBERTa's. A SentencePiece
  model, or a tokenizer.json with one, gives the `SentencePieces` of an
  architecture, "xlm-roberta" for instance. ValueError if the file is missing,
  not UTF-8, or no vocabulary.
  """
  folder, name = os.path.split(path)
  merges = os.path.join(folder, "merges.txt")
  has_merges = name in ("vocab.json", "vocabulary.json")
  for file in (path, merges) if has_merges else (path,):
    if not gfile().exists(file):
      raise ValueError(
        f"The vocabulary file {file} does not exist. Use the one that belongs "
        "to the weights, a vocab.txt as vocab_file."
      )
  if has_merges:
    lines = [line.rstrip("\r") for line in read_text(merges).split("\n")]
    merges = [line for line in lines if line and line[:9] != "#version:"]
    return _byte_pairs(read_json_object(path), merges, path)
  if path.endswith(_PIECE_ENDINGS):
    return sentence_pieces(read_bytes(path), architecture, path)
  if path.endswith(".json"):
    values = read_json_object(path)
    type_name, _ = check_json(values, path)
    if type_name == "BPE":
      return _byte_pairs_of_json(values, path)
    if type_name == "Unigram":
      return sentence_pieces_of_json(values, architecture, path)
    ids = _with_gaps_filled(values["model"].get("vocab"))
    tokens = _by_id(ids, path)
    # No text has a token that a line of vocab.txt cannot hold.
    tokens = [
      token if _LINE.fullmatch(token) else f"[blank {i}]"
      for i, token in enumerate(tokens)
    ]
  else:
    lines = read_text(path).rstrip("\n").split("\n")
    tokens = _with_distinct_blanks([line.strip() for line in lines])
  check_vocabulary(tokens, path)
  return tokens


def _with_distinct_blanks(tokens):
  """Gives each blank token but the last a name; the original keeps the last.

  No text has any of them, but the ids of other tokens must not change.
  """
  blanks = [i for i, token in enumerate(tokens) if not token][:-1]
  for i in blanks:
    tokens[i] = f"[blank {i}]"
  return tokens


def _byte_pairs_of_json(values, path):
  """Reads the values of a tokenizer.json with a BPE model as `BytePairs`."""
  model = values["model"]
  try:
    added = values.get("added_tokens") or ()
    ids = {each["content"]: each["id"] for each in added} | model["vocab"]
    # Newer files have pairs, older ones strings.
    merges = [
      merge if isinstance(merge, str) else " ".join(merge)
      for merge in model["merges"]
    ]
  except (KeyError, TypeError) as error:
    raise ValueError(
      f"{path}: added_tokens, vocab or merges are not those of a BPE model "
      f"({error!r}). Use the file that belongs to the model."
    ) from error
  return _byte_pairs(ids, merges, path)


def _with_gaps_filled(ids):
  """Adds a token for each id without one to a dict of ids, if these are few.

  A token that vocab.txt has twice, such as a blank line, keeps only its last id
  in transformers.
  """
  if not isinstance(ids, dict) or not all(type(i) is int for i in ids.values()):
    return ids  # `_by_id` refuses them.
  top = min(max(ids.values(), default=0), 2 * len(ids))
  missing = {*range(top)} - {*ids.values()}
  if 10 * len(missing) > len(ids):
    return ids
  return ids | {f"[blank {number}]": number for number in missing}


def _byte_pairs(ids, merges, path):
  """Checks a dict from token to id, and merges; makes `BytePairs` of them."""
  check_merges(merges, path)
  return BytePairs(_by_id(ids, path), merges)


def check_merges(merges, path):
  """Raises ValueError unless each merge of a list is two tokens."""
  for merge in merges:
    if not (isinstance(merge, str) and re.fullmatch("[^ ]+ [^ ]+", merge)):
      raise ValueError(
        f"{path}: a merge must be two tokens with a space between them. "
        f"Received: {merge!r:.80}. Use the merges that belong to the model."
      )


def _by_id(ids, path):
  """Returns the tokens in the order of their ids, which may have no gaps."""
  if (
    not isinstance(ids, dict)
    or not all(isinstance(token, str) for token in ids)
    or sorted(ids.values(), key=str) != sorted(range(len(ids)), key=str)
  ):
    raise ValueError(
      f"{path}: its vocabulary must be an object of tokens with the ids 0, 1, "
      f".. Received: {shortened(ids)}. Use the file that belongs to the model."
    )
  return sorted(ids, key=ids.get)


def check_vocabulary(tokens, source="the vocabulary"):
  """Raises ValueError if a special token is missing or a token is repeated."""
  kind = vocabulary_kind(tokens)
  if kind != WORD_PIECES:
    raise ValueError(
      f"{source} has {kind}; only WordPieces can be used for this. Use the "
      "vocab.txt of a BERT model."
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
  kinds = {BytePairs: BYTE_PAIRS, SentencePieces: SENTENCE_PIECES}
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
