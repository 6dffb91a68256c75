"""Answers as Python objects."""

import dataclasses


@dataclasses.dataclass(unsafe_hash=True)
class Answer:
  """An answer: `context[char_start:char_end]`; "" and 0, 0 for "no answer".

  Offsets are half-open, in characters. Answers are compared by their score.
  """

  text: str
  char_start: int
  char_end: int
  score: float
  probability: float
  # The score of "no answer" less that of the best span of the question.
  null_odds: float
  # Whether the end of the question was not read: it is longer than
  # max_query_length. False for an empty passage, of which nothing is read.
  question_truncated: bool
  # In an n-best list of a span head: the logits of the first and last token, or
  # of [CLS] for "no answer".
  start_logit: float | None = dataclasses.field(
    default=None, repr=False, compare=False
  )
  end_logit: float | None = dataclasses.field(
    default=None, repr=False, compare=False
  )

  @property
  def is_answerable(self) -> bool:
    """Whether it is a span and not "no answer"."""
    return bool(self.text)


@dataclasses.dataclass(frozen=True)
class Prediction:
  """The answer to a question, and the other candidates."""

  answer: Answer
  # Best first. Of a span head the n-best list, with "no answer" among them; of
  # a B/I/O head its spans.
  n_best: tuple[Answer, ...]
  # In order of position, () for "no answer"; at most one of a span head.
  spans: tuple[Answer, ...]

  def best(self, n_best: int) -> Answer | list[Answer]:
    """The answer, or with n_best above 1 the list of so many candidates."""
    return self.answer if n_best == 1 else list(self.n_best[:n_best])
