"""The WordPiece vocabulary: one token a line, the line number is its id."""

import hashlib

import tensorflow as tf

from bert_span.storage.files import read_bytes, read_json_object

UNKNOWN_TOKEN = "[UNK]"
CLS_TOKEN = "[CLS]"
SEP_TOKEN = "[SEP]"


def load_vocabulary(path):
  """Returns the list of tokens in a vocab.txt, local or remote.

  Lines are stripped of surrounding white space, as in run_squad's load_vocab.
  The path may also be the tokenizer.json of a Hugging Face directory.
  Raises ValueError if the file is missing, not UTF-8, or no BERT vocabulary.
  """
  if not tf.io.gfile.exists(path):
    raise ValueError(
      f"The vocabulary file {path} does not exist. Pass the vocab.txt that "
      "belongs to the checkpoint as --vocab_file."
    )
  if path.endswith(".json"):
    tokens = _wordpieces_of_json(path)
  else:
    try:
      text = read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
      raise ValueError(
        f"The vocabulary file {path} is not UTF-8 text ({error}). It must be a "
        "vocab.txt with one token a line."
      ) from error
    tokens = [line.strip() for line in text.rstrip("\n").split("\n")]
  check_vocabulary(tokens, path)
  return tokens


def _wordpieces_of_json(path):
  """The tokens in a tokenizer.json of the tokenizers library, by id."""
  model = read_json_object(path).get("model")
  model = model if isinstance(model, dict) else {}
  ids = model.get("vocab")
  if (
    model.get("type") != "WordPiece"
    or not isinstance(ids, dict)
    or sorted(ids.values(), key=str) != sorted(range(len(ids)), key=str)
  ):
    raise ValueError(
      f"{path}: its model must be of the type WordPiece, with a vocabulary of "
      f"the ids 0, 1, .. Received: {model.get('type')!r}. Give a vocab.txt."
    )
  return sorted(ids, key=ids.get)


def check_vocabulary(tokens, source="the vocabulary"):
  """Raises ValueError if a special token is missing or a token is repeated."""
  required = (UNKNOWN_TOKEN, CLS_TOKEN, SEP_TOKEN)
  missing = [token for token in required if token not in tokens]
  if missing:
    raise ValueError(
      f"{source} lacks {', '.join(missing)} among its {len(tokens)} tokens. "
      "It must be the vocab.txt of a BERT model, with one token a line."
    )
  if len(set(tokens)) != len(tokens):
    seen = set()
    twice = next(t for t in tokens if t in seen or seen.add(t))
    raise ValueError(
      f"{source} contains the token {twice!r} more than once, so its id is "
      "ambiguous. Use the vocabulary that belongs to the checkpoint."
    )


def vocabulary_sha256(tokens):
  """Returns the SHA-256 of the tokens, one a line, in hexadecimal digits."""
  return hashlib.sha256("\n".join(tokens).encode("utf-8")).hexdigest()
