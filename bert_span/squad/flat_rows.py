"""Converts the flat rows of transformers' run_qa.py to SQuAD's format.

    {"data": [{"id": "a", "title": "T", "question": "Who built it?",
               "context": "Anna built it.",
               "answers": {"text": ["Anna"], "answer_start": [0]}}]}

Empty lists are those of an unanswerable question.

Source: huggingface/transformers, examples/pytorch/question-answering.
"""

from bert_span.storage.json_fields import FieldErrors


def is_flat(top: dict) -> bool:
  """Whether a JSON object with the list "data" has flat rows."""
  first = next(iter(top["data"]), None)
  return isinstance(first, dict) and {"context", "answers"} <= first.keys()


def from_flat_rows(path: str, top: dict) -> dict:
  """Converts a file of flat rows: an article and a paragraph each."""
  errors, articles = FieldErrors(path), []
  for index, row in errors.objects(top["data"], "row", "data"):
    place = f"row {index}"
    answers = errors.required(row, "answers", dict, place) or {}
    question = {key: row[key] for key in ("id", "question") if key in row}
    texts = errors.required(answers, "text", list, place)
    starts = errors.required(answers, "answer_start", list, place)
    if texts is None or starts is None:
      continue
    if len(texts) != len(starts):
      counts = f"{len(texts)} texts and {len(starts)} starts. Give each one"
      errors.add(place, f"'answers' has {counts}.")
    question["answers"] = [
      {"text": text, "answer_start": start}
      for text, start in zip(texts, starts, strict=False)
    ]
    if not texts:
      question["is_impossible"] = True
    context = errors.required(row, "context", str, place)
    paragraphs = [{"context": context, "qas": [question]}]
    articles.append({"title": row.get("title", ""), "paragraphs": paragraphs})
  errors.raise_if_any()
  return {**top, "data": articles}
