"""Converts the flat rows of transformers' run_qa.py to SQuAD's format.

    {"data": [{"id": "a", "title": "T", "question": "Who built it?",
               "context": "Anna built it.",
               "answers": {"text": ["Anna"], "answer_start": [0]}}]}

Empty lists are those of an unanswerable question. A row without the key
"answers" has no labels.

Source: huggingface/transformers, examples/pytorch/question-answering.
"""

from bert_span.storage.json_fields import FieldErrors


def is_flat(top: dict) -> bool:
  """Whether a JSON object with the list "data" has flat rows.

  A row without answers is flat if its context is a text, not a list as in
  MultiSpanQA, which may be the string "['Ada', 'met', ..]".
  """
  first = next(iter(top["data"]), None)
  keys = first.keys() if isinstance(first, dict) else set()
  if {"question", "context"} <= keys and "label" not in keys:
    context = first["context"]
    if isinstance(context, str) and not context.startswith("["):
      return True
  return {"context", "answers"} <= keys


def from_flat_rows(path: str, top: dict) -> dict:
  """Converts a file of flat rows: an article and a paragraph each."""
  errors, articles = FieldErrors(path), []
  for index, row in errors.objects(top["data"], "row", "data"):
    place = f"row {index}"
    question = {key: row[key] for key in ("id", "question") if key in row}
    if "answers" in row:  # Files that are only predicted may have none.
      question |= _answer_keys(row, place, errors)
    context = errors.required(row, "context", str, place)
    paragraphs = [{"context": context, "qas": [question]}]
    articles.append({"title": row.get("title", ""), "paragraphs": paragraphs})
  errors.raise_if_any()
  return {**top, "data": articles}


def _answer_keys(row, place, errors):
  """The answers of a row, as keys of a question of SQuAD."""
  answers = errors.required(row, "answers", dict, place) or {}
  texts = errors.required(answers, "text", list, place)
  starts = errors.required(answers, "answer_start", list, place)
  if texts is None or starts is None:
    return {}
  if len(texts) != len(starts):
    counts = f"{len(texts)} texts and {len(starts)} starts. Give each one"
    errors.add(place, f"'answers' has {counts}.")
  if not texts:
    return {"is_impossible": True}
  return {
    "answers": [
      {"text": text, "answer_start": start}
      for text, start in zip(texts, starts, strict=False)
    ]
  }
