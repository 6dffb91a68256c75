"""MultiSpanQA's files in SQuAD's form.

A question of MultiSpanQA has a passage of tokens with one label each; its
answers are the runs "B I I .." of labels:

    context  ["Ada", "Lovelace", "met", "Babbage", "."]
    label    ["B",   "I",        "O",   "B",       "O"]

Joined with blanks the passage is "Ada Lovelace met Babbage .", and the answers
are its characters [0, 12) and [17, 24). Both lists may also stand in a string,
as Python writes them. A file without labels is a test file.

Source: Li et al. 2022, MultiSpanQA: A Dataset for Multi-Span Question
Answering, and the data and evaluator released with it.
"""

import ast

from bert_span.storage import json_fields

_LABELS = ("B", "I", "O")


def is_multispanqa(top: dict) -> bool:
  """Whether a parsed file is in MultiSpanQA's format.

  Args:
    top: JSON object with the list "data".
  """
  first = next(iter(top["data"]), None)
  return (
    isinstance(first, dict)
    and "paragraphs" not in first
    and {"question", "context"} <= first.keys()
  )


def as_squad(path: str, top: dict) -> dict:
  """Turns a MultiSpanQA file into a SQuAD file.

  Every question becomes a paragraph of its own, its spans one annotator's
  annotations. A question whose labels are all O is_impossible.

  Args:
    path: the file, for messages.
    top: JSON object with the list "data" of questions.

  Returns:
    JSON object in SQuAD's form. What both formats know is left for SQuAD's
    reader to check.

  Raises:
    ValueError: tokens or labels are not what they must be; names the file and
      up to 10 errors with question id and remedy.
  """
  errors = json_fields.FieldErrors(path)
  articles = []
  for index, record in json_fields.records(
    top["data"], "question", "data", errors
  ):
    place = f"question {json_fields.shortened(record.get('id', index))}"
    paragraph = _paragraph(record, place, errors)
    articles.append({"title": "", "paragraphs": [paragraph]})
  errors.raise_if_any()
  return {**top, "data": articles}


def label_spans(labels: list[str]) -> list[tuple[int, int]]:
  """The runs of labels that make an answer each.

  An I with neither B nor I before it begins an answer too, as in the official
  evaluator: ["I", "O", "B", "B", "I"] gives [(0, 1), (2, 3), (3, 5)].

  Args:
    labels: "B", "I" or "O" for each token.

  Returns:
    List of (first, end), half-open, in tokens.
  """
  spans = []
  for i, label in enumerate(labels):
    if label == "B" or (label == "I" and (i == 0 or labels[i - 1] == "O")):
      spans.append((i, i + 1))
    elif label == "I":
      spans[-1] = (spans[-1][0], i + 1)
  return spans


def _paragraph(record, place, errors):
  """SQuAD's paragraph of one question."""
  tokens = _strings(record, "context", place, errors)
  question = {key: record[key] for key in ("id",) if key in record}
  question["question"] = record.get("question")
  if not isinstance(question["question"], str):
    question["question"] = " ".join(_strings(record, "question", place, errors))
  if record.get("label") is not None:
    labels = _labels(record, len(tokens), place, errors)
    spans = _answers(tokens, label_spans(labels))
    question.update(
      {"annotations": [spans]} if spans else {"is_impossible": True}
    )
  return {"context": " ".join(tokens), "qas": [question]}


def _answers(tokens, spans):
  """SQuAD's answers of token spans."""
  char_starts = [0]
  for token in tokens:
    char_starts.append(char_starts[-1] + len(token) + 1)  # and a blank
  return [
    {"text": " ".join(tokens[first:end]), "answer_start": char_starts[first]}
    for first, end in spans
  ]


def _labels(record, num_tokens, place, errors):
  labels = _strings(record, "label", place, errors)
  unknown = [label for label in labels if label not in _LABELS]
  if unknown:
    errors.add(
      place,
      f"'label' must hold {', '.join(_LABELS)} only, received "
      f"{json_fields.shortened(unknown[0])}. Correct it.",
    )
    return []
  if labels and len(labels) != num_tokens:
    errors.add(
      place,
      f"'label' has {len(labels)} labels for the {num_tokens} tokens of "
      "'context'. Give each token one.",
    )
    return []
  return labels


def _strings(record, key, place, errors):
  """The list of strings of a key, [] after an error."""
  value = record.get(key)
  if isinstance(value, str):
    value = _parsed(value)
  if isinstance(value, list) and all(isinstance(item, str) for item in value):
    return value
  errors.add(
    place,
    f"{key!r} must be a list of strings, or such a list as Python writes it, "
    f"received {json_fields.shortened(record.get(key))}. Correct it.",
  )
  return []


def _parsed(text):
  """The value of a Python literal, None if it is none."""
  try:
    return ast.literal_eval(text)
  except (ValueError, SyntaxError, MemoryError, RecursionError):
    return None
