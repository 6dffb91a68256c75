"""The WordPiece vocabulary: one token a line, the line number is its id."""

import hashlib

import tensorflow as tf

UNKNOWN_TOKEN = "[UNK]"
CLS_TOKEN = "[CLS]"
SEP_TOKEN = "[SEP]"
_REQUIRED_TOKENS = (UNKNOWN_TOKEN, CLS_TOKEN, SEP_TOKEN)


def load_vocabulary(path):
  """Reads a vocabulary file of BERT.

  Args:
    path: local or any `tf.io.gfile` path of a vocab.txt.

  Returns:
    List of tokens; the index in the list is the id. Lines are stripped of
    surrounding white space, as run_squad's load_vocab does.

  Raises:
    ValueError: the file is missing, not UTF-8, or no vocabulary of BERT.
  """
  if not tf.io.gfile.exists(path):
    raise ValueError(
      f"The vocabulary file {path} does not exist. Pass the vocab.txt that "
      "belongs to the checkpoint as --vocab_file."
    )
  with tf.io.gfile.GFile(path, "rb") as file:
    data = file.read()
  try:
    text = data.decode("utf-8")
  except UnicodeDecodeError as error:
    raise ValueError(
      f"The vocabulary file {path} is not UTF-8 text ({error}). It must be a "
      "vocab.txt with one token a line."
    ) from error
  tokens = [line.strip() for line in text.rstrip("\n").split("\n")]
  check_vocabulary(tokens, path)
  return tokens


def check_vocabulary(tokens, source="the vocabulary"):
  """Refuses a list of tokens that BERT cannot be used with.

  Args:
    tokens: list of strings.
    source: what to call it in the message, usually its path.

  Raises:
    ValueError: a special token is missing or a token stands there twice.
  """
  missing = [token for token in _REQUIRED_TOKENS if token not in tokens]
  if missing:
    raise ValueError(
      f"{source} lacks {', '.join(missing)} among its {len(tokens)} tokens. "
      "It must be the vocab.txt of a BERT model, with one token a line."
    )
  if len(set(tokens)) != len(tokens):
    seen = set()
    twice = next(t for t in tokens if t in seen or seen.add(t))
    raise ValueError(
      f"{source} holds the token {twice!r} more than once, so its id is not "
      "defined. Remove the repetition (and check that the file belongs to "
      "the checkpoint)."
    )


def vocabulary_sha256(tokens):
  """What tells a vocabulary from another one, whatever its file.

  Args:
    tokens: list of strings.

  Returns:
    SHA-256 of the tokens, a line each, in hexadecimal digits.
  """
  return hashlib.sha256("\n".join(tokens).encode("utf-8")).hexdigest()
