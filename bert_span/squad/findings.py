"""The kinds of findings about a SQuAD file, in one list.

Reading a file counts its findings in a `ReadReport`; lint_squad lists them all.
"""

import dataclasses
import enum

# An error stops training. A warning means that a question is skipped, learned
# wrongly or cannot be answered correctly. A note says that something is legal.
ERROR, WARNING, NOTE = SEVERITIES = "error", "warning", "note"


@dataclasses.dataclass(frozen=True)
class _KindFields:
  fact: str  # the fault, a clause
  remedy: str  # sentences: the effect of the fault, and what to do
  noun: str = "question"  # the thing that is counted
  severity: str = WARNING  # one of SEVERITIES


class FindingKind(_KindFields, enum.Enum):
  """The kinds of findings, in the order of reports."""

  UNREADABLE = (
    "not readable as a SQuAD file",
    "Nothing else was checked.",
    "file",
    ERROR,
  )
  STRUCTURE = (
    "wrong structure",
    "Nothing else was checked: correct the file and run this again.",
    "place",
    ERROR,
  )
  NO_QUESTIONS = (
    "there is no question in it",
    "Check the keys 'data', 'paragraphs' and 'qas', and what they hold.",
    "file",
    ERROR,
  )
  DUPLICATE_ID = (
    "the id belongs to an earlier question",
    "Predictions are keyed by id: rename or remove one of the two.",
    "question",
    ERROR,
  )

  ANSWER_NOT_LOCATED = (
    "not at its answer_start, and at no other clear place",
    "Training skips it, scoring counts it. Correct text and answer_start.",
    "answer",
  )
  ANSWER_MOVED = (
    "not at its answer_start but elsewhere in the passage",
    "The correct offset is used; lint_squad --fix writes it into a copy.",
    "answer",
  )
  BLANK_ANSWER = (
    "the text is empty",
    "Training skips it. Add the text, or remove the answer.",
    "answer",
  )
  NO_ANSWER = (
    "no answer, and not marked is_impossible",
    "Training skips it. Add an answer, or mark it is_impossible.",
  )
  NO_LOCATED_ANSWER = (
    "none of its answers is in the passage",
    "Training skips it. Correct text and answer_start.",
  )
  IMPOSSIBLE_WITH_ANSWERS = (
    "marked is_impossible, but it has answers",
    "It trains as unanswerable. Remove the mark or the answers.",
  )
  BLANK_CONTEXT = (
    "the passage is empty",
    "Training skips it; its answer is empty. Fill in or remove the context.",
  )
  NO_WINDOW = (
    "the passage has no WordPiece",
    "As with an empty passage: BERT drops all its characters. Correct it.",
  )
  BLANK_QUESTION = (
    "the question is empty",
    "It is answered from the passage alone. Fill it in, or remove it.",
  )
  DUPLICATE_QUESTION = (
    "asked before about the same passage",
    "It counts twice, and may contradict the first. Remove one.",
  )
  ANSWER_WITHOUT_TOKEN = (
    "no WordPiece of it in the passage",
    "Training skips it: BERT drops all its characters. Correct it.",
    "answer",
  )
  ANSWER_CUT = (
    "not whole in any window",
    "It trains as no answer. Raise max_seq_length or lower doc_stride.",
    "answer",
  )
  ANSWER_TOO_LONG = (
    "longer than max_answer_length",
    "It is never predicted whole. Raise max_answer_length or shorten it.",
    "answer",
  )
  QUESTION_CUT = (
    "longer than max_query_length",
    "Its end is cut off. Raise max_query_length (and max_seq_length).",
  )
  MANY_UNKNOWN_WORDS = (
    "many words are not in the vocabulary",
    "Choose a model of this language, and check do_lower_case.",
    "file",
  )
  ALL_ANSWERABLE = (
    "no unanswerable question, but version_2_with_negative=True",
    "No threshold can be learned. Use a SQuAD 2.0 file, or leave it out.",
    "file",
  )

  UNANSWERABLE = (
    "unanswerable",
    "Train and predict with version_2_with_negative=True.",
    "question",
    NOTE,
  )
  SEVERAL_ANSWERS = (
    "several answers",
    "Training uses the first in the passage; scoring checks against all.",
    "question",
    NOTE,
  )
  INTEGER_ID = (
    "an integer",
    "Official evaluators miss it; lint_squad --fix writes a string.",
    "id",
    NOTE,
  )

  def summary(self, count):
    """Returns a clause such as "2 questions: unanswerable"."""
    return f"{counted(count, self.noun)}: {self.fact}"


@dataclasses.dataclass(frozen=True)
class Finding:
  """One occurrence of a kind."""

  kind: FindingKind
  place: str  # article, question and answer, for people
  detail: str = ""  # the value at that place, and its fault
  qas_id: str | None = None  # None if it concerns no question
  json_path: str = ""  # such as "data[0].paragraphs[2].qas[1]"
  repair: int | str | None = None  # the value that a repaired copy has instead


class ReadReport:
  """Counts findings by kind, each once per place: file, article, question."""

  def __init__(self):
    self._details: dict[FindingKind, dict[str, str]] = {}

  def add(self, kind: FindingKind, place: str, detail: str = "") -> None:
    self._details.setdefault(kind, {})[place] = detail

  def count(self, kind: FindingKind) -> int:
    return len(self._details.get(kind, ()))

  def lines(self, num_places: int = 3) -> list[str]:
    """Returns a line per kind with its first places, in the order of `add`."""
    lines = []
    for kind, details in self._details.items():
      first = list(details.items())[:num_places]
      named = "; ".join(": ".join(filter(None, pair)) for pair in first)
      summary = kind.summary(len(details))
      lines.append(f"{summary} (first: {named}). {kind.remedy}")
    return lines

  def __bool__(self):
    return bool(self._details)


def counted(count, noun):
  """Returns a count with its noun: "1 word", "1,204 words"."""
  return f"{count:,} {noun}" + ("" if count == 1 else "s")
