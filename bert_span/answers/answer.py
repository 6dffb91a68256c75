"""Answers as Python objects."""

import dataclasses


# Not frozen: a question has 20 of them, and a frozen one takes 6 times as long
# to make.
@dataclasses.dataclass(unsafe_hash=True)
class Answer:
  """An answer: `context[char_start:char_end]`; "" and 0, 0 for "no answer".

  Offsets are half-open, in characters. Answers are compared by their score; see
  `SpanDecoder` and `BioDecoder` for scores and probabilities. A labelled answer
  of a `SquadExample` is an `AnswerSpan`.

  What a prediction file does not have is None in an answer that is read from
  it.
  """

  text: str
  char_start: int | None
  char_end: int | None
  score: float | None
  probability: float
  # The score of "no answer" less that of the best span of the question.
  null_odds: float | None = None
  # Whether the end of the question was not read: it is longer than
  # max_query_length. False for an empty passage, of which nothing is read.
  question_truncated: bool = False
  # In an n-best list of a span head: the logits of the first and last token,
  # or of [CLS] for "no answer". They are no difference between two answers.
  start_logit: float | None = dataclasses.field(
    default=None, repr=False, compare=False
  )
  end_logit: float | None = dataclasses.field(
    default=None, repr=False, compare=False
  )

  @property
  def is_answerable(self):
    """Whether it is a span and not "no answer"."""
    return bool(self.text)


@dataclasses.dataclass(frozen=True)
class Prediction:
  """The answer to the question of an id, and the other candidates."""

  qas_id: str
  answer: Answer
  # Best first. Of a span head the n-best list, with "no answer" among them; of
  # a B/I/O head its spans.
  n_best: tuple[Answer, ...]
  # In order of position, () for "no answer"; at most one of a span head.
  spans: tuple[Answer, ...]

  def best(self, n_best):
    """The answer, or with n_best above 1 the list of so many candidates."""
    return self.answer if n_best == 1 else list(self.n_best[:n_best])
