"""Answers for engines that call a function with batches of columns.

docs/many_documents.md has an example for Spark. Examples for Ray Data, whose
batches are dicts of arrays, and Dask, whose partitions are data frames:

    def with_answers(batch):
      predict = make_predict_fn("minilm_squad")
      return {**batch, **predict(batch["question"], batch["context"])}

    dataset.map_batches(with_answers)

    def with_answers(frame):
      predict = make_predict_fn("minilm_squad")
      return frame.assign(**predict(frame.question, frame.context))

    frames.map_partitions(with_answers)
"""

import functools

import numpy as np

from bert_span.extractors.extractor import Extractor

# The columns of an answer and their types in Spark.
ANSWER_TYPE = (
  "answer string, char_start int, char_end int, score double, "
  "probability double, question_truncated boolean, error string"
)
_NAMES = [column.split()[0] for column in ANSWER_TYPE.split(", ")]


@functools.lru_cache(maxsize=1)
def make_predict_fn(model):
  """Loads a model, once in a process.

  Args:
    model: see `SpanExtractor.from_preset`; a path that every worker sees.

  Returns:
    A function of two columns of str, questions and contexts, of one length. It
    returns a dict of object arrays of that length: answer ("" for "no answer"),
    char_start and char_end (half-open, in characters), score, probability and
    question_truncated, see `Answer`; and error. If the question or context of a
    row is no text, such as None, the row has an error and None in the others.

  Raises:
    ValueError: there is no such model.
  """
  extractor = Extractor.from_preset(model)

  def predict(questions, contexts):
    rows = list(zip(questions, contexts, strict=True))
    errors = [_error(*row) for row in rows]
    columns = {name: np.full(len(errors), None, object) for name in _NAMES}
    columns["error"][:] = errors
    valid = [i for i, error in enumerate(errors) if error is None]
    answers = extractor.answer(
      [rows[i][0] for i in valid], [rows[i][1] for i in valid]
    )
    for index, answer in zip(valid, answers, strict=True):
      columns["answer"][index] = answer.text
      for name in _NAMES[1:-1]:
        columns[name][index] = getattr(answer, name)
    return columns

  return predict


def _error(question, context):
  """Returns the error of a row; None for a valid row."""
  for name, value in (("question", question), ("context", context)):
    if not isinstance(value, str):
      return f"The {name} must be text. Received: {value!r}."
  return None
