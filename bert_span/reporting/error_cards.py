"""The worst errors: a table of them, and each with its passage."""

from bert_span.reporting.marked_text import marked_segments
from bert_span.reporting.markup import (
  Column,
  Link,
  cut,
  escaped,
  sortable_table,
)
from bert_span.squad.answer_location import NOT_LOCATED

# Characters that are shown of texts, so that no file makes a page too long.
_QUESTION_CHARACTERS = 600
_ANSWER_CHARACTERS = 300
_CELL_CHARACTERS = 120
_NUM_GOLDS = 5
_NUM_ENTRIES = 5
_NO_ANSWER = "(no answer)"
_COLUMNS = (
  Column("#", is_number=True),
  Column("Question"),
  Column("Annotators"),
  Column("Model"),
  Column("F1", is_number=True, is_percent=True),
  Column("Probability", is_number=True, is_percent=True),
)


def error_table(errors):
  """A table with a row for each error, linked to its card.

  Args:
    errors: list of `QuestionResult`.

  Returns:
    str of HTML.
  """
  rows = [
    [
      Link(str(number), _anchor(number)),
      cut(error.example.question, _CELL_CHARACTERS),
      cut("; ".join(_golds(error)), _CELL_CHARACTERS),
      cut(error.prediction or _NO_ANSWER, _CELL_CHARACTERS),
      100.0 * error.f1,
      100.0 * error.probability,
    ]
    for number, error in enumerate(errors, start=1)
  ]
  return sortable_table("The worst errors", _COLUMNS, rows)


def error_card(number, result):
  """One error: question, answers, and the passage with both marked.

  Args:
    number: of the error, from 1.
    result: `QuestionResult` with a prediction.

  Returns:
    str of HTML.
  """
  example = result.example
  golds = "; ".join(
    escaped(cut(text, _ANSWER_CHARACTERS)) for text in _golds(result)
  )
  return (
    f'<article id="{_anchor(number)}" class="error">\n'
    f'<h3 dir="auto">{number}. '
    f"{escaped(cut(example.question, _QUESTION_CHARACTERS))}</h3>\n"
    f'<p class="quiet" dir="auto">{escaped(_origin(example))}</p>\n'
    "<dl>\n"
    f'<dt>Annotators</dt><dd dir="auto">{golds}</dd>\n'
    f'<dt>Model</dt><dd dir="auto">{_entry_text(result.prediction)} '
    f'<span class="quiet">{100 * result.probability:.1f} % probable, '
    f"F1 {100 * result.f1:.0f}</span></dd>\n"
    "</dl>\n"
    f'<p class="passage" dir="auto">{marked_passage(result)}</p>\n'
    f"{_n_best_list(result.n_best)}\n"
    "</article>"
  )


def marked_passage(result):
  """The passage with the annotators' and the model's answers marked.

  Args:
    result: `QuestionResult`.

  Returns:
    str of HTML; what stands far from all answers is left out, with a note.
  """
  gold = [
    (answer.char_start, answer.char_start + len(answer.text))
    for answer in result.example.answers
    if answer.char_start != NOT_LOCATED
  ]
  predicted = [result.span] if result.span else []
  segments = marked_segments(result.example.context, gold, predicted)
  return "".join(map(_segment, segments))


def _segment(segment):
  text = escaped(segment.text)
  if segment.left_out:
    text = (
      f'<span class="quiet"> [{segment.left_out:,} characters left out] </span>'
    )
  if not segment.is_marked:
    return text
  label = {
    (True, True): "both",
    (True, False): "annotators",
    (False, True): "model",
  }[segment.is_gold, segment.is_predicted]
  return f'<mark class="{label}" data-label="{label}">{text}</mark>'


def _n_best_list(entries):
  items = "".join(
    f'<li dir="auto">{_entry_text(entry.text)} '
    f'<span class="quiet">{100 * entry.probability:.1f} %</span></li>'
    for entry in entries[:_NUM_ENTRIES]
  )
  return (
    f"<details><summary>The model's {min(_NUM_ENTRIES, len(entries))} most "
    f"probable answers</summary><ol>{items}</ol></details>"
  )


def _golds(result):
  """The distinct answers of the annotators, the first few."""
  texts = list(dict.fromkeys(answer.text for answer in result.example.answers))
  more = [f"and {len(texts) - _NUM_GOLDS} more"] if texts[_NUM_GOLDS:] else []
  return [*texts[:_NUM_GOLDS], *more] or [_NO_ANSWER]


def _origin(example):
  """Where the question is from, as a line."""
  title = f"{cut(example.title, _CELL_CHARACTERS)}, " if example.title else ""
  return f"{title}question {cut(example.qas_id, _CELL_CHARACTERS)}"


def _entry_text(text):
  return escaped(cut(text, _ANSWER_CHARACTERS)) if text else _NO_ANSWER


def _anchor(number):
  return f"error-{number}"
