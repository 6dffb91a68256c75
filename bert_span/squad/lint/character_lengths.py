"""How long questions, passages and answers of a file are in characters."""

from bert_span.squad.lint.length_summary import summaries
from bert_span.squad.lint.linter import first_located


def character_summaries(examples):
  """Sums up the lengths of texts in characters.

  Args:
    examples: sequence of `SquadExample`, at least one.

  Returns:
    Dict of `length_summary` of question, passage (every distinct one once)
    and answer (of each question the one to learn), as far as there are any.
  """
  answers = map(first_located, examples)
  return summaries(
    question=[len(example.question) for example in examples],
    passage=list(map(len, {example.context for example in examples})),
    answer=[len(answer.text) for answer in answers if answer is not None],
  )
