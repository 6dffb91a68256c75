"""Parses SQuAD files, and explains what is wrong at the top level."""

import os
from typing import NamedTuple

from bert_span.squad import multispanqa
from bert_span.storage.files import read_json
from bert_span.storage.json_fields import shortened

_GIVE_SQUAD = (
  'Give a SQuAD file {"data": [{"paragraphs": [{"context": ..., '
  '"qas": [...]}]}]}.'
)


def load_squad_json(path: str | os.PathLike) -> dict:
  """Parses a SQuAD file; a MultiSpanQA file is converted to its format.

  "data" of the returned object is a list; nothing below it is checked.

  Raises:
    OSError: the file cannot be read.
    ValueError: it is not UTF-8, not JSON, cut off, or not SQuAD's top level.
  """
  path = os.fspath(path)
  top = _parse(path)
  _check_top_level(path, top)
  if multispanqa.is_multispanqa(top):
    return multispanqa.as_squad(path, top)
  return top


class QuestionRecord(NamedTuple):
  """A question of parsed JSON.

  Attributes:
    json_path: such as "data[0].paragraphs[2].qas[1]".
    paragraph: the dict that holds it, and its context.
    question: the dict of id, question, answers, is_impossible.
  """

  json_path: str
  paragraph: dict
  question: dict


def question_records(top):
  """Yields a `QuestionRecord` per question of JSON of the right structure."""
  for i, article in enumerate(top["data"]):
    for j, paragraph in enumerate(article["paragraphs"]):
      for k, question in enumerate(paragraph["qas"]):
        json_path = f"data[{i}].paragraphs[{j}].qas[{k}]"
        yield QuestionRecord(json_path, paragraph, question)


def _parse(path):
  """Reads JSON, and refuses repeated keys."""
  repeated = []

  def to_dict(pairs):
    result = dict(pairs)
    if len(result) < len(pairs):
      seen = set()
      key = next(key for key, _ in pairs if key in seen or seen.add(key))
      repeated.append((key, result))
    return result

  value = read_json(path, to_dict)
  if repeated:
    key, record = repeated[0]
    raise ValueError(
      f"{path}: an object has the key {shortened(key)} more than once, and all "
      f"but the last would be lost: {shortened(record)}. Objects like that: "
      f"{len(repeated)}. Join or remove the repeated keys."
    )
  return value


def _check_top_level(path, top):
  if isinstance(top, dict) and isinstance(top.get("data"), list):
    return
  if isinstance(top, list):
    problem = f"the file is a bare list of {len(top)} values"
  elif not isinstance(top, dict):
    problem = f"the file is a JSON {type(top).__name__}"
  elif "data" not in top:
    keys = ", ".join(map(shortened, list(top)[:8])) or "none"
    problem = f"the key 'data' is missing. Received keys: {keys}"
  else:
    received = type(top["data"]).__name__
    problem = f"'data' must be a list of articles, received {received}"
  raise ValueError(f"{path}: {problem}. {_GIVE_SQUAD}")
