"""Answers as Python objects."""

import dataclasses


# Not frozen: a question has 20 of them, and to make a frozen one takes 6 times
# as long.
@dataclasses.dataclass(unsafe_hash=True)
class Answer:
  """An answer: `context[char_start:char_end]`; "" and 0, 0 for "no answer".

  Offsets are half-open, in characters. Answers are compared by their score; see
  `SpanDecoder` and `BioDecoder` for scores and probabilities. A labelled answer
  of a `SquadExample` is an `AnswerSpan`.

  In an answer that is read from a prediction file, fields that the file does
  not have are None.
  """

  text: str
  char_start: int | None
  char_end: int | None
  score: float | None
  probability: float
  # The score of "no answer" less that of the best span of the question.
  null_odds: float | None = None
  # True if the end of the question was not read, because it is longer than
  # max_query_length. False for an empty passage, which is not read.
  question_truncated: bool = False
  # In an n-best list of a span head: the logits of the first and last token,
  # or of [CLS] for "no answer". Answers are compared without them.
  start_logit: float | None = dataclasses.field(
    default=None, repr=False, compare=False
  )
  end_logit: float | None = dataclasses.field(
    default=None, repr=False, compare=False
  )

  @property
  def is_answerable(self):
    """True for a span, False for "no answer"."""
    return bool(self.text)


@dataclasses.dataclass(frozen=True)
class Prediction:
  """The answer to a question, known by its id, and the other candidates."""

  qas_id: str
  answer: Answer
  # Best first. A span head gives its n-best list, with "no answer" among them;
  # a B/I/O head its spans.
  n_best: tuple[Answer, ...]
  # In order of position, () for "no answer". A span head has at most one.
  spans: tuple[Answer, ...]

  def best(self, n_best):
    """Returns the answer, or if n_best > 1 the list of n_best candidates."""
    return self.answer if n_best == 1 else list(self.n_best[:n_best])
