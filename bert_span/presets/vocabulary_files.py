"""Files of vocabularies: those of the original, Hugging Face and KerasHub."""

import os
import re

from bert_span.options.messages import shortened
from bert_span.presets.tokenizer_json import sentence_pieces_of_json
from bert_span.presets.tokenizer_keys import (
  NFC_PAIRS,
  added_tokens_of_json,
  check_json,
)
from bert_span.storage.files import (
  gfile,
  read_bytes,
  read_json_object,
  read_text,
)
from bert_span.text.sentencepiece_model import sentence_pieces
from bert_span.text.vocabulary import (
  BytePairs,
  ModernBertPairs,
  check_merges,
  check_vocabulary,
  extended,
)

# Tokens that keep all their characters in a line of vocab.txt.
_LINE = re.compile(r"(?!\s)[^\n\ud800-\udfff]+(?<!\s)")
# Names of SentencePiece models, the last in folders of google-research/albert.
PIECE_FILES = (
  *("sentencepiece.bpe.model", "spm.model", "spiece.model"),
  "30k-clean.model",
)
_PIECE_ENDINGS = ".model", ".spm"


def load_vocabulary(path, piece_family="bert"):
  """Reads the vocabulary in a file, local or remote.

  Args:
    path: one of these files.
      - vocab.txt, a token a line. White space around a token is dropped, as in
        run_squad.
      - vocab.json with a merges.txt beside it, of RoBERTa.
      - A SentencePiece model.
      - tokenizer.json of a Hugging Face directory.
    piece_family: which of `PIECE_FAMILIES` SentencePieces belong to.

  Returns:
    A list of tokens (WordPieces), `BytePairs`, `ModernBertPairs` or
    `SentencePieces`. A tokenizer.json with added tokens gives an
    `ExtendedVocabulary` of one of them.

  Raises:
    ValueError: the file is missing, not UTF-8, or not a vocabulary.
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
    return sentence_pieces(read_bytes(path), piece_family, path)
  if path.endswith(".json"):
    values = read_json_object(path)
    model_type, _ = check_json(values, path)
    if model_type in ("BPE", NFC_PAIRS):
      return byte_pairs_of_json(values, path)
    added_tokens = added_tokens_of_json(values, model_type, path)
    if model_type == "Unigram":
      pieces = sentence_pieces_of_json(values, piece_family, path)
      return extended(pieces, added_tokens, path)
    ids = _with_gaps_filled(values["model"].get("vocab"))
    tokens = _tokens_by_id(ids, path)
    # No text has a token that a line of vocab.txt cannot hold.
    tokens = [
      token if _LINE.fullmatch(token) else f"[blank {i}]"
      for i, token in enumerate(tokens)
    ]
  else:
    added_tokens = ()
    lines = read_text(path).rstrip("\n").split("\n")
    tokens = _with_distinct_blanks([line.strip() for line in lines])
  check_vocabulary(tokens, path)
  return extended(tokens, added_tokens, path)


def _with_distinct_blanks(tokens):
  """Gives blank tokens distinct names, which no text has.

  So their rows keep their ids. The last one stays blank, as in the original.
  """
  blanks = [i for i, token in enumerate(tokens) if not token][:-1]
  for i in blanks:
    tokens[i] = f"[blank {i}]"
  return tokens


def byte_pairs_of_json(values, path):
  """Returns the vocabulary of a tokenizer.json with BPE.

  It is `BytePairs` or `ModernBertPairs`, or an `ExtendedVocabulary` of them.
  """
  model_type, _ = check_json(values, path)
  model = values["model"]
  try:
    tokens = values.get("added_tokens") or ()
    ids = {token["content"]: token["id"] for token in tokens} | model["vocab"]
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
  pairs = _byte_pairs(ids, merges, path)
  if model_type == NFC_PAIRS:
    pairs = ModernBertPairs(*pairs)
  return extended(pairs, added_tokens_of_json(values, model_type, path), path)


def _with_gaps_filled(ids):
  """Adds made-up tokens to a dict from tokens to ids, for ids without a token.

  There are a few such ids where vocab.txt has a token twice, for instance a
  blank line: transformers gives the token the last of its ids.
  """
  if not isinstance(ids, dict) or not all(type(i) is int for i in ids.values()):
    return ids  # `_tokens_by_id` refuses them.
  limit = min(max(ids.values(), default=0), 2 * len(ids))
  missing_ids = {*range(limit)} - {*ids.values()}
  if 10 * len(missing_ids) > len(ids):
    return ids
  return ids | {f"[blank {i}]": i for i in missing_ids}


def _byte_pairs(ids, merges, path):
  """Returns `BytePairs`, made of a dict from tokens to ids and a list."""
  check_merges(merges, path)
  return BytePairs(_tokens_by_id(ids, path), merges)


def _tokens_by_id(ids, path):
  """Returns the tokens of a dict from tokens to ids, sorted by id."""
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
