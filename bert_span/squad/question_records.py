"""The questions of parsed SQuAD JSON, with their places in it."""

from typing import NamedTuple


class QuestionRecord(NamedTuple):
  """A question as it stands in the file.

  Attributes:
    json_path: such as "data[0].paragraphs[2].qas[1]".
    paragraph: the dict that holds it, and its context.
    question: the dict of id, question, answers, is_impossible.
  """

  json_path: str
  paragraph: dict
  question: dict

  def answers(self):
    """Yields (json_path, dict) of every answer."""
    for number, answer in enumerate(self.question.get("answers") or ()):
      yield f"{self.json_path}.answers[{number}]", answer


def question_records(top):
  """Walks the questions in the order in which the reader reads them.

  Args:
    top: the parsed file, its structure checked by `parse_squad`.

  Yields:
    `QuestionRecord`.
  """
  for i, article in enumerate(top["data"]):
    for j, paragraph in enumerate(article["paragraphs"]):
      for k, question in enumerate(paragraph["qas"]):
        json_path = f"data[{i}].paragraphs[{j}].qas[{k}]"
        yield QuestionRecord(json_path, paragraph, question)
