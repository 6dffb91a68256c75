"""The bytes of a SQuAD file as JSON, or an error that says what they are."""

import json
import os

from bert_span.squad import multispanqa
from bert_span.storage.files import read_bytes
from bert_span.storage.json_fields import shortened

_GIVE_SQUAD = (
  'Give a SQuAD file {"data": [{"paragraphs": [{"context": ..., '
  '"qas": [...]}]}]}.'
)


def load_squad_json(path: str | os.PathLike) -> dict:
  """The top level of a SQuAD file: a dict that holds the list "data".

  A plain path is read without loading TensorFlow, so that small programs start
  at once; a path with a scheme (gs://, hdfs://, file://) goes through
  tf.io.gfile.

  Args:
    path: a local path, or any path that tf.io.gfile knows.

  Returns:
    The parsed JSON object; "data" is a list, nothing below it is checked. The
    questions of a MultiSpanQA file are turned into SQuAD's form.

  Raises:
    OSError: the file cannot be read.
    ValueError: it is not UTF-8, not JSON, cut off, or not SQuAD's top level.
  """
  path = os.fspath(path)
  top = _checked_top_level(path, _parse(path, _decode(path, read_bytes(path))))
  if multispanqa.is_multispanqa(top):
    return multispanqa.as_squad(path, top)
  return top


def _decode(path, content):
  if not content.strip():
    raise ValueError(
      f"{path}: the file is empty, not SQuAD JSON. Download it again."
    )
  if content.startswith(b"\x1f\x8b"):
    raise ValueError(f"{path}: the file is gzip-compressed. Run gunzip on it.")
  if b"\x00" in content:
    raise ValueError(
      f"{path}: not UTF-8 JSON: a zero byte at offset "
      f"{content.index(0)} bytes, as UTF-16 has them. Convert the file with "
      "iconv -f UTF-16 -t UTF-8, or download it again if it is damaged."
    )
  try:
    return content.decode("utf-8-sig")  # Accepts a byte order mark.
  except UnicodeDecodeError as error:
    raise ValueError(
      f"{path}: not UTF-8: byte 0x{content[error.start]:02x} at offset "
      f"{error.start} bytes ({error.reason}). Convert the file, for instance "
      "with iconv -t UTF-8."
    ) from error


def _parse(path, text):
  repeated = []

  def to_dict(pairs):
    result = dict(pairs)
    if len(result) < len(pairs):
      repeated.append((_first_repeated(pairs), result))
    return result

  try:
    value = json.loads(text, object_pairs_hook=to_dict)
  except json.JSONDecodeError as error:
    raise ValueError(
      f"{path}: line {error.lineno}, column {error.colno} ({error.msg}): "
      f"{_json_fault(text, error)}"
    ) from error
  except (ValueError, RecursionError) as error:
    # An integer of thousands of digits, or brackets nested a thousand deep.
    raise ValueError(
      f"{path}: not JSON that can be read: {error}. {_GIVE_SQUAD}"
    ) from error
  if repeated:
    key, record = repeated[0]
    raise ValueError(
      f"{path}: an object has the key {shortened(key)} more than once, and all "
      f"but the last would be lost: {shortened(record)}. Objects like that: "
      f"{len(repeated)}. Join or remove the repeated keys."
    )
  return value


def _first_repeated(pairs):
  """The first key of a JSON object that it has had before."""
  seen = set()
  return next(key for key, _ in pairs if key in seen or seen.add(key))


def _json_fault(text, error):
  """What a person would say about text that json refuses."""
  if text.startswith("version https://git-lfs"):
    return "a Git LFS pointer and not the file itself. Run git lfs pull."
  if text.lstrip().startswith("<"):
    return "HTML or XML, not JSON. Download the raw file."
  if error.msg == "Extra data" and text[: error.pos].strip()[-1:] == "}":
    return (
      "more than one JSON value, as in JSON Lines. Expected one SQuAD object "
      '{"data": [...]}; convert the rows to articles and paragraphs.'
    )
  unterminated = error.msg.startswith("Unterminated string")
  if unterminated or error.pos >= len(text.rstrip()):
    return "the JSON ends in the middle (truncated?). Download it again."
  return "not JSON. Correct the file at that place."


def _checked_top_level(path, top):
  if isinstance(top, list):
    raise ValueError(
      f"{path}: the file is a bare list of {len(top)} values. Wrap a list of "
      'SQuAD articles in {"data": ...}; convert lists of rows.'
    )
  if not isinstance(top, dict):
    raise ValueError(
      f"{path}: the file is a JSON {type(top).__name__}. {_GIVE_SQUAD}"
    )
  if "data" not in top:
    keys = ", ".join(map(shortened, list(top)[:8])) or "none"
    raise ValueError(
      f"{path}: the key 'data' is missing. Received keys: {keys}. {_GIVE_SQUAD}"
    )
  if not isinstance(top["data"], list):
    raise ValueError(
      f"{path}: 'data' must be a list of articles, received "
      f"{type(top['data']).__name__}. {_GIVE_SQUAD}"
    )
  return top
