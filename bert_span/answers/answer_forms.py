"""Answers to one question or to many, of any model."""

from bert_span.answers.decoding.predictions import Answer
from bert_span.squad.example import SquadExample


class AnswerForms:
  """The methods `answer` and `answers`, made of a subclass's `predict`.

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
      by score; for a list of questions a list of these. Only n_best=1 decides
      whether there is an answer: it applies the null threshold.

    Raises:
      ValueError: questions and passages do not match, or n_best is above the
        decoder's n_best_size.
    """
    largest = getattr(self.decoder_options, "n_best_size", n_best)
    if not 1 <= n_best <= largest:
      raise ValueError(
        "n_best must be between 1 and the decoder's n_best_size, "
        f"{largest}. Received: {n_best}."
      )

    def best(prediction):
      if n_best == 1:
        return _answer(prediction)
      return [_answer(entry) for entry in prediction.n_best[:n_best]]

    return self._ask(question, context, best)

  def answers(self, question, context):
    """The answer to one question, or to several, as a list of spans.

    A B/I/O head finds any number of spans, a span head one at most.

    Args:
      question, context: see `answer`.

    Returns:
      For one question a list of `Answer` in order of position, [] for "no
      answer"; for a list of questions a list of these.
    """
    return self._ask(
      question, context, lambda p: [_answer(s) for s in self.head.spans_of(p)]
    )

  def _ask(self, question, context, answer_of):
    if isinstance(question, str) != isinstance(context, str):
      raise ValueError(
        "question and context must both be strings or both be lists. "
        f"Received: {type(question).__name__} and {type(context).__name__}."
      )
    if isinstance(question, str):
      return self._ask([question], [context], answer_of)[0]
    if len(question) != len(context):
      raise ValueError(
        "question and context must have the same length. Received: "
        f"{len(question)} and {len(context)}."
      )
    pairs = zip(question, context, strict=True)
    examples = [SquadExample(str(i), *pair) for i, pair in enumerate(pairs)]
    return [answer_of(prediction) for prediction in self.predict(examples)]


def _answer(found):
  return Answer(*(getattr(found, name) for name in Answer._fields))
