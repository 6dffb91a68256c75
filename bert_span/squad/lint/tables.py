"""The figures of lint_squad as text."""

import io
import textwrap

import rich.console
import rich.table

from bert_span.squad.findings import counted
from bert_span.squad.lint.length_summary import PERCENTILES


def wrapped(text, indent=""):
  """Breaks text into lines of at most 80 columns, all but one indented."""
  return textwrap.fill(
    text,
    80,
    subsequent_indent=indent,
    break_long_words=False,
    break_on_hyphens=False,
  )


def length_table(figures):
  """A table of the lengths of questions, passages, answers and windows."""
  summaries = {
    f"{name}, {title}": summary
    for unit, title in (
      ("wordpieces", "WordPieces"),
      ("characters", "characters"),
    )
    for name, summary in figures.get(unit, {}).items()
  }
  if "windows_per_question" in figures:
    summaries["question, windows"] = figures["windows_per_question"]
  titles = [f"{p} %" for p in PERCENTILES]
  names = [*(f"p{p}" for p in PERCENTILES), "max"]
  rows = [
    [
      label,
      f"{summary['count']:,}",
      f"{summary['mean']:,.1f}",
      *(f"{summary[name]:,}" for name in names),
    ]
    for label, summary in summaries.items()
  ]
  table = _table(["LENGTHS", "count", "mean", *titles, "max"], rows)
  return f"{table}\nColumn 95 %: of 100, 95 are no longer than this."


def cost_table(figures, settings):
  """A table of what each max_seq_length costs; the chosen one is marked."""
  to_bucket = f"to {settings['length_bucket']}s"
  titles = [
    "MAX_SEQ\n_LENGTH",
    "windows",
    "without\nanswer",
    "answers\ncut",
    f"WordPieces,\n{to_bucket}",
    "padded\nto max",
    f"cost\n{to_bucket}",
    "\nto max",
  ]
  rows = []
  for row in figures["max_seq_lengths"]:
    length, wordpieces = row["max_seq_length"], row["wordpieces"]
    is_chosen = length == settings["max_seq_length"]
    rows.append(
      [
        f"{length} <" if is_chosen else str(length),
        f"{row['windows']:,}",
        f"{row['answerless_windows']:,}",
        f"{row['answers_cut']:,}",
        _padded(wordpieces, row["bucket_wordpieces"]),
        _padded(wordpieces, row["padded_wordpieces"]),
        f"{row['bucket_cost']:.2f}",
        f"{row['padded_cost']:.2f}",
      ]
    )
  explanation = wrapped(
    f"With --doc_stride={settings['doc_stride']} and --max_query_length="
    f"{settings['max_query_length']}. Without answer: windows of answerable "
    "questions that do not hold the answer; they train as null answers. "
    "WordPieces: after padding, with the share of padding, when batches are "
    f"padded to a multiple of {settings['length_bucket']} (--length_buckets) "
    "and when all are padded to max_seq_length. Cost: multiplications of the "
    "encoder, the sum over windows of padded length L of L (1 + L / (6 * "
    f"{settings['hidden_size']})), relative to the row marked <, with length "
    "buckets."
  )
  return f"{_table(titles, rows)}\n{explanation}"


def unknown_block(unknown):
  """The share of [UNK], with the most frequent characters and words."""
  lines = [
    wrapped(
      f"[UNK]: {_percent(unknown['token_share'])} of WordPieces "
      f"({unknown['unknown_tokens']:,} of {unknown['tokens']:,}), "
      f"{_percent(unknown['character_share'])} of characters "
      f"({unknown['unknown_characters']:,} of {unknown['characters']:,})."
    )
  ]
  for name, noun in (
    ("characters", "distinct unknown character"),
    ("words", "longer unknown word"),
  ):
    rows = unknown[f"most_frequent_{name}"][:5]
    count = unknown[f"distinct_{name}"]
    if rows:
      most_frequent = ", the most frequent" if count > len(rows) else ""
      lines.append(f"{counted(count, noun)}{most_frequent}:")
    for row in rows:
      text = row["text"]
      shown = repr(text if len(text) <= 40 else text[:37] + "...")
      if len(text) == 1:
        shown += f" U+{ord(text):04X}"  # It may be invisible.
      where = f"first in question {row['question_id']!r}"
      lines.append(f"  {row['count']:>7,}  {shown}, {where}")
  return "\n".join(lines)


def _padded(wordpieces, padded):
  """Such as "1.21M 14 %": all WordPieces, and the share of padding."""
  if not padded:
    return "0"
  total = f"{padded / 1e6:.2f}M" if padded >= 1e6 else f"{padded / 1e3:.1f}k"
  return f"{total} {100 * (1 - wordpieces / padded):.0f} %"


def _percent(share):
  return "under 0.01 %" if 0 < share < 0.0001 else f"{100 * share:.2f} %"


def _table(titles, rows):
  """Aligned columns, the first to the left; plain text that is never cut."""
  table = rich.table.Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
  for index, title in enumerate(titles):
    justify = "right" if index else "left"
    table.add_column(title, justify=justify, no_wrap=True)
  for row in rows:
    table.add_row(*row)
  console = rich.console.Console(
    file=io.StringIO(), width=1000, color_system=None, markup=False
  )
  console.print(table)
  lines = console.file.getvalue().splitlines()
  return "\n".join(line.rstrip() for line in lines)
