"""What can be wrong with a SQuAD file: the one list of findings.

Reading a file counts them in a `ReadReport`; lint_squad lists them all.
"""

import dataclasses
import enum

# An error stops training. A warning costs something: a question is skipped,
# learned wrongly or cannot be answered correctly. A note is legal.
ERROR, WARNING, NOTE = SEVERITIES = "error", "warning", "note"


@dataclasses.dataclass(frozen=True)
class _KindFields:
  severity: str  # one of SEVERITIES
  noun: str  # what is counted
  fact: str  # what is wrong with each of them
  remedy: str  # what to do, and what happens otherwise


class FindingKind(_KindFields, enum.Enum):
  """The kinds of findings, in the order in which they are reported."""

  UNREADABLE = (
    ERROR,
    "file",
    "not readable as SQuAD JSON",
    "Nothing else was checked.",
  )
  STRUCTURE = (
    ERROR,
    "place",
    "wrong structure",
    "Nothing else was checked: correct the file and run this again.",
  )
  NO_QUESTIONS = (
    ERROR,
    "file",
    "there is no question in it",
    "Check the keys 'data', 'paragraphs' and 'qas', and what they hold.",
  )
  DUPLICATE_ID = (
    ERROR,
    "question",
    "the id belongs to an earlier question",
    "Predictions are keyed by id: rename or remove one of the two.",
  )

  ANSWER_NOT_LOCATED = (
    WARNING,
    "answer",
    "not at its answer_start, and at no other clear place",
    "Training skips it, scoring counts it. Correct text and answer_start.",
  )
  ANSWER_MOVED = (
    WARNING,
    "answer",
    "not at its answer_start but elsewhere in the passage",
    "The place found is used; lint_squad --fix writes it into a copy.",
  )
  BLANK_ANSWER = (
    WARNING,
    "answer",
    "the text is empty",
    "Training skips it. Add the text, or remove the answer.",
  )
  NO_ANSWER = (
    WARNING,
    "question",
    "no answer, and not marked is_impossible",
    "Training skips it. Add an answer, or mark it is_impossible.",
  )
  NO_LOCATED_ANSWER = (
    WARNING,
    "question",
    "none of its answers is in the passage",
    "Training skips it. Correct text and answer_start.",
  )
  IMPOSSIBLE_WITH_ANSWERS = (
    WARNING,
    "question",
    "marked is_impossible, but it has answers",
    "It trains as unanswerable. Remove the mark or the answers.",
  )
  BLANK_CONTEXT = (
    WARNING,
    "question",
    "the passage is empty",
    "Training skips it; its answer is empty. Fill in or remove the context.",
  )
  NO_WINDOW = (
    WARNING,
    "question",
    "the passage has no WordPiece",
    "As with an empty passage: BERT drops all its characters. Correct it.",
  )
  BLANK_QUESTION = (
    WARNING,
    "question",
    "the question is empty",
    "It is answered from the passage alone. Fill it in, or remove it.",
  )
  DUPLICATE_QUESTION = (
    WARNING,
    "question",
    "asked before about the same passage",
    "It counts twice, and may contradict the first. Remove one.",
  )
  ANSWER_WITHOUT_TOKEN = (
    WARNING,
    "answer",
    "no WordPiece of it in the passage",
    "Training skips it: BERT drops all its characters. Correct it.",
  )
  ANSWER_CUT = (
    WARNING,
    "answer",
    "not whole in any window",
    "It trains as no answer. Raise --max_seq_length or lower --doc_stride.",
  )
  ANSWER_TOO_LONG = (
    WARNING,
    "answer",
    "longer than --max_answer_length",
    "It is never predicted whole. Raise --max_answer_length or shorten it.",
  )
  QUESTION_CUT = (
    WARNING,
    "question",
    "longer than --max_query_length",
    "Its end is cut off. Raise --max_query_length (and --max_seq_length).",
  )
  MANY_UNKNOWN_WORDS = (
    WARNING,
    "file",
    "many words are not in the vocabulary",
    "Choose a model of this language, and check --do_lower_case.",
  )
  ALL_ANSWERABLE = (
    WARNING,
    "file",
    "no unanswerable question, but --version_2_with_negative is set",
    "No threshold can be learned. Use a SQuAD 2.0 file, or drop the flag.",
  )

  UNANSWERABLE = (
    NOTE,
    "question",
    "unanswerable",
    "Train and predict with --version_2_with_negative.",
  )
  SEVERAL_ANSWERS = (
    NOTE,
    "question",
    "several answers",
    "Training uses the first in the passage; scoring checks against all.",
  )
  INTEGER_ID = (
    NOTE,
    "id",
    "an integer",
    "Official evaluators miss it; lint_squad --fix writes a string.",
  )

  def summary(self, count):
    """A clause such as "2 questions: unanswerable"."""
    return f"{counted(count, self.noun)}: {self.fact}"


@dataclasses.dataclass(frozen=True)
class Finding:
  """One occurrence of a kind."""

  kind: FindingKind
  place: str  # article, question and answer, for people
  detail: str = ""  # the value at that place, and its fault
  qas_id: str | None = None  # None where it concerns no question
  json_path: str = ""  # such as "data[0].paragraphs[2].qas[1]"
  repair: int | str | None = None  # the value that --fix writes instead


class ReadReport:
  """Counts findings by kind, each once per place."""

  def __init__(self):
    self._details: dict[FindingKind, dict[str, str]] = {}

  def add(self, kind: FindingKind, place: str, detail: str = "") -> None:
    """Counts one occurrence; the place is file, article and question."""
    self._details.setdefault(kind, {})[place] = detail

  def count(self, kind: FindingKind) -> int:
    """Returns the number of places with this kind."""
    return len(self._details.get(kind, ()))

  def lines(self, num_places: int = 3) -> list[str]:
    """One line per kind, in the order they were first met, with its places."""
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
  """A count with its noun: "1 word", "1,204 words"."""
  return f"{count:,} {noun}" + ("" if count == 1 else "s")
