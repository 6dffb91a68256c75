"""Converts MultiSpanQA's files to SQuAD's format.

A question of MultiSpanQA has a passage of tokens with one label each; its
answers are the runs "B I I .." of labels:

    context  ["Ada", "Lovelace", "met", "Babbage", "."]
    label    ["B",   "I",        "O",   "B",       "O"]

The passage, joined with blanks, is "Ada Lovelace met Babbage .", and the
answers are its characters [0, 12) and [17, 24). Both lists may also be strings
that hold a list in Python's notation. A file without labels is a test file.

Source: Li et al. 2022, MultiSpanQA: A Dataset for Multi-Span Question
Answering, and the data and evaluator released with it.
"""

import ast
import itertools

from bert_span.options.messages import shortened
from bert_span.storage.json_fields import FieldErrors


def is_multispanqa(top: dict) -> bool:
  """Returns whether a JSON object with "data" is in MultiSpanQA's format."""
  first = next(iter(top["data"]), None)
  keys = first.keys() if isinstance(first, dict) else set()
  return "paragraphs" not in keys and {"question", "context"} <= keys


def as_squad(path: str, top: dict) -> dict:
  """Converts the JSON object of a MultiSpanQA file; returns any other as it is.

  Every question becomes a paragraph; its spans become the annotations of one
  annotator. A question whose labels are all O gets is_impossible.
  """
  if not is_multispanqa(top):
    return top
  errors = FieldErrors(path)
  articles = []
  for index, record in errors.objects(top["data"], "question", "data"):
    place = f"question {shortened(record.get('id', index))}"
    paragraph = _paragraph(record, place, errors)
    articles.append({"title": "", "paragraphs": [paragraph]})
  errors.raise_if_any()
  return {**top, "data": articles}


def label_spans(labels: list[str]) -> list[tuple[int, int]]:
  """Returns the answers (first, end) of labels, half-open, in tokens.

  An I after an O begins an answer too, as in the official evaluator:
  ["I", "O", "B", "B", "I"] gives [(0, 1), (2, 3), (3, 5)].
  """
  spans = []
  for i, label in enumerate(labels):
    if label == "B" or (label == "I" and (i == 0 or labels[i - 1] == "O")):
      spans.append((i, i + 1))
    elif label == "I":
      spans[-1] = (spans[-1][0], i + 1)
  return spans


def _paragraph(record, place, errors):
  tokens = _strings(record, "context", place, errors)
  question = {key: record[key] for key in ("id", "question") if key in record}
  if not isinstance(record.get("question"), str):
    question["question"] = " ".join(_strings(record, "question", place, errors))
  if record.get("label") is not None:
    labels = _strings(record, "label", place, errors)
    unknown = [label for label in labels if label not in ("B", "I", "O")]
    if unknown:
      received = f"received {shortened(unknown[0])}. Correct it."
      errors.add(place, f"'label' must hold B, I, O only, {received}")
    elif labels and len(labels) != len(tokens):
      counts = f"{len(labels)} labels for the {len(tokens)} tokens of 'context'"
      errors.add(place, f"'label' has {counts}. Give each token one.")
    else:
      # Each token but the first has a blank before it.
      starts = [0, *itertools.accumulate(len(token) + 1 for token in tokens)]
      answers = [
        {"text": " ".join(tokens[first:end]), "answer_start": starts[first]}
        for first, end in label_spans(labels)
      ]
      if answers:
        question["annotations"] = [answers]
      else:
        question["is_impossible"] = True
  return {"context": " ".join(tokens), "qas": [question]}


def _strings(record, key, place, errors):
  """Returns the list of strings under a key, [] after an error."""
  value = record.get(key)
  if isinstance(value, str):
    try:
      value = ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
      value = None
  if isinstance(value, list) and all(isinstance(item, str) for item in value):
    return value
  errors.add(
    place,
    f"{key!r} must be a list of strings, or such a list as Python writes it, "
    f"received {shortened(record.get(key))}. Correct it.",
  )
  return []
