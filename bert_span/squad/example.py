"""One question about one passage, as SQuAD files hold it."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Answer:
  """An annotator's answer: `context[char_start:char_start + len(text)]`.

  Attributes:
    text: the answer's characters.
    char_start: offset into the context in characters (SQuAD's answer_start).
  """

  text: str
  char_start: int


@dataclasses.dataclass(frozen=True)
class SquadExample:
  """A question, its passage and the annotators' answers.

  Attributes:
    qas_id: the question's id; integer ids of a file become strings.
    question: the question's text.
    context: the passage, exactly as in the file: character offsets index it.
    answers: one per annotator; empty when there is none or none is known.
      Where a file gives annotations only, all their distinct spans.
    is_impossible: SQuAD 2.0's mark of an unanswerable question.
    title: the article's title, for reports.
    annotations: the spans of each annotator, any number of them, where the
      file gives them; () for an annotator who found no answer.
  """

  qas_id: str
  question: str
  context: str
  answers: tuple[Answer, ...] = ()
  is_impossible: bool = False
  title: str = ""
  annotations: tuple[tuple[Answer, ...], ...] = ()

  @property
  def is_unlabelled(self) -> bool:
    """Whether there is neither an answer nor a mark of being unanswerable."""
    return not (self.answers or self.annotations or self.is_impossible)

  @property
  def annotators(self) -> tuple[tuple[Answer, ...], ...]:
    """The spans of each annotator.

    Without annotations each answer counts as one annotator's, and an
    unanswerable question as having one annotator without a span.
    """
    if self.annotations:
      return self.annotations
    if self.is_impossible:
      return ((),)
    return tuple((answer,) for answer in self.answers)
