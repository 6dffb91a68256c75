"""A question about a passage, with the answers and their offsets."""

import collections.abc
import dataclasses
import re

from bert_span.options.messages import shortened

NOT_LOCATED = -1
# As run_squad: characters that separate the words of a passage.
_BLANKS = "[ \t\r\n\u202f]+"


@dataclasses.dataclass(frozen=True)
class AnswerSpan:
  """A labelled answer: `context[char_start:char_start + len(text)]`.

  An extractor returns an `Answer` instead.
  """

  text: str
  char_start: int  # offset in characters (SQuAD's answer_start)


@dataclasses.dataclass(frozen=True)
class SquadExample:
  """A question, its passage and the annotators' answers.

  Attributes:
    qas_id: the question's id; integer ids of a file become strings.
    question: the question's text.
    context: the passage, exactly as in the file: character offsets index it.
    answers: one per annotator; empty if there is none or none is known. If a
      file has annotations only, all their distinct spans.
    is_impossible: SQuAD 2.0's mark of an unanswerable question.
    title: the article's title, for reports.
    annotations: the spans of each annotator, any number of them, if the file
      has them; () for an annotator who found no answer.
  """

  qas_id: str
  question: str
  context: str
  answers: tuple[AnswerSpan, ...] = ()
  is_impossible: bool = False
  title: str = ""
  annotations: tuple[tuple[AnswerSpan, ...], ...] = ()

  def __post_init__(self):
    _check_spans(self.qas_id, "answers", self.answers)
    for spans in self.annotations:
      _check_spans(self.qas_id, "annotations", spans)

  @property
  def is_unlabelled(self) -> bool:
    """True without an answer, an annotation and the mark is_impossible."""
    return not (self.answers or self.annotations or self.is_impossible)

  @property
  def annotators(self) -> tuple[tuple[AnswerSpan, ...], ...]:
    """The spans of each annotator; without annotations, one for each answer.

    An unanswerable question has one annotator without a span.
    """
    if self.is_impossible:
      return ((),)
    if self.annotations:
      return self.annotations
    return tuple((answer,) for answer in self.answers)

  @property
  def place(self) -> str:
    """Article and question id, for messages."""
    article = f"article {self.title!r}, " if self.title else ""
    return f"{article}question {self.qas_id!r}"


def _check_spans(qas_id, name, spans):
  """Raises ValueError unless an argument is a tuple of `AnswerSpan`."""
  if not isinstance(spans, (tuple, list)) or not all(
    isinstance(span, AnswerSpan) for span in spans
  ):
    raise ValueError(
      f"question {qas_id!r}: {name} must contain "
      "bert_span.AnswerSpan(text, char_start), in a tuple; an Answer is what "
      f"an extractor returns. Received: {shortened(spans)}."
    )


def question_pairs(question, context):
  """Returns [(question, passage)] of two texts or of two lists.

  A list of questions may have a single passage. Raises ValueError for a text
  that is not a str, with its index in the list.
  """
  has_lists = is_list(question)
  if has_lists and isinstance(context, str):
    context = [context] * len(question)
  if has_lists != is_list(context):
    raise ValueError(
      "question and context must both be strings or both be lists. "
      f"Received: {type(question).__name__} and {type(context).__name__}."
    )
  if not has_lists:
    check_text(question, "question")
    check_text(context, "context")
    return [(question, context)]
  if len(question) != len(context):
    raise ValueError(
      "question and context must have the same length. Received: "
      f"{len(question)} and {len(context)}."
    )
  pairs = list(zip(question, context, strict=True))
  for i, (one_question, one_context) in enumerate(pairs):
    check_text(one_question, f"question[{i}]")
    check_text(one_context, f"context[{i}]")
  return pairs


def is_list(texts):
  """Returns whether an argument is a list, an array or a column of texts."""
  is_collection = isinstance(texts, collections.abc.Collection)
  return is_collection and not isinstance(texts, (str, bytes))


def check_text(text, name):
  """Raises ValueError, naming the argument, unless a text is a str."""
  if not isinstance(text, str):
    raise ValueError(
      f"{name} must be a str. Received: {shortened(text)}. Decode bytes, and "
      "leave out rows without a text."
    )


def locate_answer(context: str, text: str, char_start: int):
  """Locates an answer at its stated offset, or at its only clear place.

  As in run_squad, blanks and line breaks between the words of an answer may
  differ from those of the passage. The answer is moved when it occurs exactly
  once in the passage, or else exactly once within the words that the stated
  span touches, as run_squad compares whole words:

    context "the plan and a plan", text "plan"
    char_start 4   "plan"   as stated
    char_start 3   " pla"   touches "the plan", one "plan" there: moved to 4
    char_start 9   "and "   touches "and a", no "plan" there: not located

  The stated offset may be any integer. Blank texts are never located.

  Returns:
    An `AnswerSpan` with the passage's characters, or with the unchanged text
    and NOT_LOCATED; and the fault of the stated offset, "" if it is correct.
  """
  if not text.strip():
    return AnswerSpan(text, NOT_LOCATED), "the answer's text is blank"
  if char_start >= 0 and context.startswith(text, char_start):
    return AnswerSpan(text, char_start), ""
  words = [text] if text in context else text.split()
  pattern = _BLANKS.join(map(re.escape, words))
  starts = [match.start() for match in re.finditer(f"(?={pattern})", context)]

  def at(start):
    return AnswerSpan(re.compile(pattern).match(context, start).group(), start)

  if char_start in starts:
    return at(char_start), ""
  excerpt, end = shortened(text), char_start + len(text)
  if 0 <= char_start < len(context):
    at_start = shortened(context[char_start:end])
    stated = f"{excerpt} is not at answer_start {char_start} ({at_start} is)"
  else:
    stated = (
      f"answer_start {char_start} of {excerpt} is outside the passage of "
      f"{len(context)} characters"
    )
  if not starts:
    return AnswerSpan(text, NOT_LOCATED), f"{stated}; the passage lacks it"
  if len(starts) > 1:
    first, end = _touched_words(context, char_start, end)
    near = [x for x in starts if first <= x and x + len(at(x).text) <= end]
    if len(near) != 1:
      several = ", ".join(map(str, starts[:5])) + ", ..." * (len(starts) > 5)
      detail = f"{stated}; it is at several: {several}"
      return AnswerSpan(text, NOT_LOCATED), detail
    starts = near
  return at(starts[0]), f"{stated}; it is at {starts[0]}"


def check_located(context, text, char_start, place):
  """Raises ValueError unless an answer is at its offset; `place` names it."""
  if char_start < 0 or not text or not context.startswith(text, char_start):
    raise ValueError(
      f"{place}: the answer {shortened(text)} is not at char_start "
      f"{char_start} of its passage. Correct the offset, in characters, or "
      "remove the question."
    )


def _touched_words(context, first, end):
  """Widens [first, end) to whole words, a blank to the word before it."""
  if not 0 <= first < len(context):
    return 0, 0
  while first > 0 and context[first].isspace():
    first -= 1
  while first > 0 and not context[first - 1].isspace():
    first -= 1
  end = min(end, len(context))
  while end < len(context) and not (
    context[end].isspace() or context[end - 1].isspace()
  ):
    end += 1
  return first, end
