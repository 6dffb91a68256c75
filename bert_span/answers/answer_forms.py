"""Answers of one question or of many, whatever the model is."""

from typing import NamedTuple

from bert_span.squad.example import SquadExample


class Answer(NamedTuple):
  """An answer: `context[char_start:char_end]`.

  Attributes:
    text: the answer's characters; "" for "no answer".
    char_start, char_end: half-open offsets into the context in characters.
    score: what answers are compared by, see `SpanDecoder`.
    probability: see `SpanDecoder`.
  """

  text: str
  char_start: int
  char_end: int
  score: float
  probability: float


class AnswerForms:
  """Answers in the forms that people ask for; a subclass has `predict`.

  Args:
    head: `AnswerHead`.
    decoder_options: those of the head.
  """

  def __init__(self, head, decoder_options):
    self.head = head
    self.decoder_options = decoder_options

  def answer(self, question, context, n_best=1):
    """Answers one question, or several.

    Args:
      question: str, or a list of str.
      context: str, or a list of as many str.
      n_best: answers for each question; of a B/I/O head its spans with the
        best scores.

    Returns:
      For one question an `Answer`, or with n_best above 1 a list of `Answer`,
      by score; for a list of questions a list of these. Whether there is an
      answer at all is decided by n_best=1 alone: it weighs the null threshold.
    """
    if isinstance(question, str) != isinstance(context, str):
      raise _mixed_error(question, context)
    largest = getattr(self.decoder_options, "n_best_size", n_best)
    if not 1 <= n_best <= largest:
      raise ValueError(
        "n_best must be between 1 and the decoder's n_best_size, "
        f"{largest}. Received: {n_best}."
      )
    if isinstance(question, str):
      return self.answer([question], [context], n_best)[0]
    predictions = self.predict(_examples(question, context))
    return [_answers(p, n_best) for p in predictions]

  def answers(self, question, context):
    """The answer to one question, or to several, as a list of spans.

    A B/I/O head finds any number of spans, a span head one at most.

    Args:
      question: str, or a list of str.
      context: str, or a list of as many str.

    Returns:
      For one question a list of `Answer` in order of position, [] for "no
      answer"; for a list of questions a list of these.
    """
    if isinstance(question, str) and isinstance(context, str):
      return self.answers([question], [context])[0]
    predictions = self.predict(_examples(question, context))
    spans = map(self.head.spans_of, predictions)
    return [[Answer(*_fields(span)) for span in answer] for answer in spans]


def _mixed_error(question, context):
  return ValueError(
    "question and context must both be strings or both be lists. "
    f"Received: {type(question).__name__} and {type(context).__name__}."
  )


def _examples(questions, contexts):
  """Questions and passages as examples."""
  if isinstance(questions, str) or isinstance(contexts, str):
    raise _mixed_error(questions, contexts)
  if len(questions) != len(contexts):
    raise ValueError(
      "question and context must have the same length. Received: "
      f"{len(questions)} and {len(contexts)}."
    )
  return [
    SquadExample(str(i), question, context)
    for i, (question, context) in enumerate(
      zip(questions, contexts, strict=True)
    )
  ]


def _answers(prediction, n_best):
  if n_best > 1:
    return [Answer(*_fields(entry)) for entry in prediction.n_best[:n_best]]
  return Answer(*_fields(prediction))


def _fields(answer):
  """The fields of `Answer` in its order."""
  return (getattr(answer, name) for name in Answer._fields)
