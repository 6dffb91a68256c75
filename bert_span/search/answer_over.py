"""The best answers to a question over many passages.

Answers of two passages are not compared by probability or score: each passage
has its own softmax and its own level of logits. They are compared by how far
the score is above that of "no answer" in the same passage, see
benchmarks/RESULTS.md, "Passages to read".
"""

from typing import NamedTuple

from bert_span.answers.decoding.predictions import Answer, answer_of
from bert_span.search.passage_index import PassageIndex
from bert_span.squad.example import SquadExample


class PassageAnswer(NamedTuple):
  """An answer in one of several passages."""

  passage: int  # number of the passage
  answer: Answer  # with offsets into the passage
  margin: float  # score minus that of "no answer" in the passage, in logits


def answer_over(extractor, question, contexts, top_k=None, index=None):
  """Answers a question from several passages, see `SpanExtractor.answer_over`.

  The extractor has a span head; `index` is the `PassageIndex` of the contexts,
  which several questions share.
  """
  numbers = range(len(contexts))
  if top_k is not None and top_k < len(contexts):
    numbers = (index or PassageIndex(contexts)).search(question, top_k)
  examples = [SquadExample(str(i), question, contexts[i]) for i in numbers]
  found = [
    PassageAnswer(i, answer_of(prediction), -prediction.null_odds)
    for i, prediction in zip(numbers, extractor.predict(examples), strict=True)
    if prediction.text
  ]
  return sorted(found, key=lambda item: item.margin, reverse=True)
