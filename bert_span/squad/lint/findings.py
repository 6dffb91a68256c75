"""What lint_squad finds in a SQuAD file: kinds, how grave, where.

An error stops training. A warning costs something: a question is lost, learnt
wrongly or cannot be answered right. A note is legal and good to know.
"""

import dataclasses

from bert_span.squad.read_report import Notice

ERROR, WARNING, NOTE = "error", "warning", "note"
SEVERITIES = (ERROR, WARNING, NOTE)


@dataclasses.dataclass(frozen=True, kw_only=True)
class FindingKind(Notice):
  """A kind of finding: a `Notice` with a name and a severity.

  Attributes:
    name: for programs; does not change from version to version.
    severity: one of SEVERITIES.
  """

  name: str
  severity: str


@dataclasses.dataclass(frozen=True)
class Finding:
  """One occurrence of a kind.

  Attributes:
    kind: `FindingKind`.
    place: article, question and answer, for people.
    detail: what was found there.
    qas_id: the question's id; None where the finding is of no question.
    json_path: such as "data[0].paragraphs[2].qas[1]"; "" likewise.
    repair: the value that --fix writes instead; None where it repairs nothing.
  """

  kind: FindingKind
  place: str
  detail: str = ""
  qas_id: str | None = None
  json_path: str = ""
  repair: int | str | None = None


UNREADABLE = FindingKind(
  "file cannot be read as SQuAD JSON",
  "files cannot be read as SQuAD JSON",
  "Nothing else was checked.",
  name="unreadable",
  severity=ERROR,
)
STRUCTURE = FindingKind(
  "place has the wrong structure",
  "places have the wrong structure",
  "Nothing else was checked: correct the file and run this again.",
  name="structure",
  severity=ERROR,
)
NO_QUESTIONS = FindingKind(
  "file has no question",
  "files have no question",
  "Check that 'data' has articles, they have 'paragraphs' and those have "
  "'qas'.",
  name="no_questions",
  severity=ERROR,
)
DUPLICATE_ID = FindingKind(
  "question has the id of an earlier one",
  "questions have the id of an earlier one",
  "Predictions are keyed by id: rename or remove one of the two.",
  name="duplicate_id",
  severity=ERROR,
)

ANSWER_NOT_LOCATED = FindingKind(
  "answer is not at its answer_start, and there is no saying where it is meant",
  "answers are not at their answer_start, and there is no saying where they "
  "are meant",
  "Training passes over them, scoring counts them; correct text and "
  "answer_start by hand.",
  name="answer_not_located",
  severity=WARNING,
)
ANSWER_MOVED = FindingKind(
  "answer is not at its answer_start; its text stands elsewhere in the passage",
  "answers are not at their answer_start; their text stands elsewhere in the "
  "passage",
  "Training takes the place found; --fix writes it into a copy.",
  name="answer_moved",
  severity=WARNING,
)
BLANK_ANSWER = FindingKind(
  "answer has an empty text",
  "answers have an empty text",
  "Training passes over them; write the text, or remove the answer.",
  name="blank_answer",
  severity=WARNING,
)
NO_ANSWER = FindingKind(
  "question has no answer and is not marked is_impossible",
  "questions have no answer and are not marked is_impossible",
  "They can be predicted but are left out of training; add an answer, or mark "
  "them is_impossible.",
  name="no_answer",
  severity=WARNING,
)
IMPOSSIBLE_WITH_ANSWERS = FindingKind(
  "question is marked is_impossible and yet has answers",
  "questions are marked is_impossible and yet have answers",
  "They train as unanswerable; remove the mark or the answers.",
  name="impossible_with_answers",
  severity=WARNING,
)
BLANK_CONTEXT = FindingKind(
  "question has an empty passage",
  "questions have an empty passage",
  "They are left out of training and get the empty answer; fill in the "
  "context, or remove the paragraph.",
  name="blank_context",
  severity=WARNING,
)
BLANK_QUESTION = FindingKind(
  "question is empty",
  "questions are empty",
  "They are trained on and answered from the passage alone; fill in the "
  "question, or remove it.",
  name="blank_question",
  severity=WARNING,
)
DUPLICATE_QUESTION = FindingKind(
  "question was asked before about the same passage",
  "questions were asked before about the same passage",
  "They count twice in training and scoring, and contradict each other where "
  "their answers differ; remove one.",
  name="duplicate_question",
  severity=WARNING,
)

ANSWER_CUT = FindingKind(
  "answer is not whole in any window",
  "answers are not whole in any window",
  "They train as if there were no answer, and cannot be predicted; raise "
  "--max_seq_length or lower --doc_stride.",
  name="answer_cut",
  severity=WARNING,
)
ANSWER_TOO_LONG = FindingKind(
  "answer is longer than --max_answer_length",
  "answers are longer than --max_answer_length",
  "They are trained on but cannot be predicted whole; raise "
  "--max_answer_length, or shorten them.",
  name="answer_too_long",
  severity=WARNING,
)
ANSWER_WITHOUT_TOKEN = FindingKind(
  "answer has no WordPiece in its passage",
  "answers have no WordPiece in their passages",
  "Training passes over them: they hold only characters that BERT drops; "
  "correct or remove them.",
  name="answer_without_token",
  severity=WARNING,
)
QUESTION_CUT = FindingKind(
  "question is longer than --max_query_length",
  "questions are longer than --max_query_length",
  "Their ends are cut off; raise --max_query_length (and --max_seq_length, "
  "which it takes room from).",
  name="question_cut",
  severity=WARNING,
)
NO_WINDOW = FindingKind(
  "question has a passage without a single WordPiece",
  "questions have a passage without a single WordPiece",
  "There is no window to train on, and the answer is empty; the passage holds "
  "only characters that BERT drops.",
  name="no_window",
  severity=WARNING,
)
MANY_UNKNOWN_WORDS = FindingKind(
  "file has many words that the vocabulary does not know",
  "files have many words that the vocabulary does not know",
  "The model sees [UNK] in their place; choose a model of this language, and "
  "check --do_lower_case.",
  name="many_unknown_words",
  severity=WARNING,
)

UNANSWERABLE = FindingKind(
  "question is unanswerable",
  "questions are unanswerable",
  "Train and predict with --version_2_with_negative.",
  name="unanswerable",
  severity=NOTE,
)
SEVERAL_ANSWERS = FindingKind(
  "question has several answers",
  "questions have several answers",
  "Training takes the first that is in the passage; all count in scoring.",
  name="several_answers",
  severity=NOTE,
)
INTEGER_ID = FindingKind(
  "id is an integer",
  "ids are integers",
  "They are read as strings here, but the official evaluators then miss the "
  "predictions; --fix writes strings into a copy.",
  name="integer_id",
  severity=NOTE,
)

# By importance: the order in which they are told.
KINDS = (
  UNREADABLE,
  STRUCTURE,
  NO_QUESTIONS,
  DUPLICATE_ID,
  ANSWER_NOT_LOCATED,
  ANSWER_MOVED,
  BLANK_ANSWER,
  NO_ANSWER,
  IMPOSSIBLE_WITH_ANSWERS,
  BLANK_CONTEXT,
  NO_WINDOW,
  BLANK_QUESTION,
  DUPLICATE_QUESTION,
  ANSWER_WITHOUT_TOKEN,
  ANSWER_CUT,
  ANSWER_TOO_LONG,
  QUESTION_CUT,
  MANY_UNKNOWN_WORDS,
  UNANSWERABLE,
  SEVERAL_ANSWERS,
  INTEGER_ID,
)


def by_kind(findings):
  """Groups findings by kind.

  Args:
    findings: iterable of `Finding`.

  Returns:
    Dict from `FindingKind` to its findings, in the order of KINDS.
  """
  groups = {kind: [] for kind in KINDS}
  for finding in findings:
    groups[finding.kind].append(finding)
  return {kind: group for kind, group in groups.items() if group}
