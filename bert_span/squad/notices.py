"""What the SQuAD readers count instead of stopping at it."""

from bert_span.squad.read_report import Notice

ANSWER_MOVED = Notice(
  "answer was not at its answer_start and was moved to where its text is",
  "answers were not at their answer_start and were moved to where their text "
  "is",
  "Correct answer_start, counted in characters, in the file.",
)
ANSWER_NOT_LOCATED = Notice(
  "answer cannot be found in its passage; its text is kept for scoring only",
  "answers cannot be found in their passages; their text is kept for scoring "
  "only",
  "Correct text and answer_start in the file.",
)
ANSWERED_IMPOSSIBLE = Notice(
  "question is marked is_impossible and yet has answers",
  "questions are marked is_impossible and yet have answers",
  "They train as unanswerable, as in run_squad; remove the mark or the "
  "answers.",
)
BLANK_CONTEXT = Notice(
  "question has an empty passage and gets the empty answer",
  "questions have an empty passage and get the empty answer",
  "Fill in the context, or remove the paragraph.",
)
BLANK_QUESTION = Notice(
  "question is empty and is answered from the passage alone",
  "questions are empty and are answered from the passage alone",
  "Fill in the question, or remove it.",
)

UNTRAINED_BLANK_CONTEXT = Notice(
  "question was left out of training: its passage is empty",
  "questions were left out of training: their passages are empty",
  "Fill in the context, or remove the paragraph.",
)
UNTRAINED_NO_ANSWER = Notice(
  "answerable question was left out of training: it has no answer",
  "answerable questions were left out of training: they have no answer",
  "Add an answer, or mark it is_impossible and use --version_2_with_negative.",
)
UNTRAINED_NOT_LOCATED = Notice(
  "question was left out of training: no answer of it is in its passage",
  "questions were left out of training: no answer of theirs is in the passage",
  "Correct text and answer_start in the file.",
)
SEVERAL_ANSWERS = Notice(
  "question has several answers and trains on the first, as run_squad would",
  "questions have several answers and train on the first, as run_squad would",
  "All of them count when scoring.",
)

ALL_ANSWERABLE = Notice(
  "file has no unanswerable question although --version_2_with_negative is on",
  "files have no unanswerable question although --version_2_with_negative is "
  "on",
  "The threshold between an answer and none cannot be learned or judged on "
  "it; use a SQuAD 2.0 file, or leave the flag out.",
)
ANSWERED_ANYWAY = Notice(
  "unanswerable question gets an answer all the same",
  "unanswerable questions get an answer all the same",
  "Use --version_2_with_negative for a SQuAD 2.0 file.",
)
