"""The figures of lint_squad as tables for people."""

import textwrap

from bert_span.squad.lint.length_summary import PERCENTILES

_WIDTH = 80


def wrapped(text, indent=""):
  """Text of several lines of at most 80 columns, all but one indented."""
  return textwrap.fill(
    text, _WIDTH, subsequent_indent=indent, break_on_hyphens=False
  )


def counted(count, noun):
  """A count with its noun: "1 word", "1,204 words"."""
  return f"{count:,} {noun}" + ("" if count == 1 else "s")


def length_table(figures):
  """Lengths of questions, passages, answers and windows, a row each.

  Args:
    figures: dict; characters, and with a vocabulary wordpieces and
      windows_per_question.

  Returns:
    Lines of text.
  """
  names = ("mean", *(f"p{p}" for p in PERCENTILES), "max")
  titles = ("mean", *(f"{p} %" for p in PERCENTILES), "max")
  rows = [["LENGTHS", "count", *titles]]
  for unit, title in (
    ("wordpieces", "WordPieces"),
    ("characters", "characters"),
  ):
    for name, summary in figures.get(unit, {}).items():
      rows.append([f"{name}, {title}", *_length_cells(summary, names)])
  if "windows_per_question" in figures:
    summary = figures["windows_per_question"]
    rows.append(["question, windows", *_length_cells(summary, names)])
  explanation = "Column 95 %: of 100, 95 are no longer than this."
  return f"{_table(rows)}\n{explanation}"


def _length_cells(summary, names):
  cells = [f"{summary['count']:,}", f"{summary['mean']:,.1f}"]
  return cells + [f"{summary[name]:,}" for name in names[1:]]


def cost_table(figures, settings):
  """What each max_seq_length costs, a row each; the chosen one is marked.

  Args:
    figures: dict with max_seq_lengths.
    settings: dict of what windows were counted with.

  Returns:
    Lines of text.
  """
  chosen = settings["max_seq_length"]
  to_bucket = f"to {settings['length_bucket']}s"
  titles = ("windows", "without", "answers", "WordPieces,", "padded", "cost")
  rows = [
    ["MAX_SEQ", *titles, ""],
    ["_LENGTH", "", "answer", "cut", *(to_bucket, "to max") * 2],
  ]
  rows += [_cost_cells(row, chosen) for row in figures["max_seq_lengths"]]
  return f"{_table(rows)}\n{_cost_explanation(settings)}"


def _cost_cells(row, chosen):
  length = row["max_seq_length"]
  return [
    f"{length} <" if length == chosen else str(length),
    f"{row['windows']:,}",
    f"{row['answerless_windows']:,}",
    f"{row['answers_cut']:,}",
    _padded(row["wordpieces"], row["bucket_wordpieces"]),
    _padded(row["wordpieces"], row["padded_wordpieces"]),
    f"{row['bucket_cost']:.2f}",
    f"{row['padded_cost']:.2f}",
  ]


def _padded(wordpieces, padded):
  """Such as "1.21M 14 %": all WordPieces, and how many of them are padding."""
  if not padded:
    return "0"
  total = f"{padded / 1e6:.2f}M" if padded >= 1e6 else f"{padded / 1e3:.1f}k"
  return f"{total} {100 * (1 - wordpieces / padded):.0f} %"


def _cost_explanation(settings):
  return wrapped(
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


def unknown_block(unknown):
  """How much is [UNK], with the most frequent characters and words.

  Args:
    unknown: dict, see `lint_windows`.

  Returns:
    Lines of text.
  """
  lines = [
    f"[UNK]: {_percent(unknown['token_share'])} of WordPieces "
    f"({unknown['unknown_tokens']:,} of {unknown['tokens']:,}), "
    f"{_percent(unknown['character_share'])} of characters "
    f"({unknown['unknown_characters']:,} of {unknown['characters']:,})."
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
    lines += [
      f"  {row['count']:>7,}  {_shown(row['text'])}, first in question "
      f"{row['question_id']!r}"
      for row in rows
    ]
  return "\n".join([wrapped(lines[0]), *lines[1:]])


def _percent(share):
  return "under 0.01 %" if 0 < share < 0.0001 else f"{100 * share:.2f} %"


def _shown(text):
  """Text with the code point of a single character, which may be invisible."""
  shown = repr(text if len(text) <= 40 else text[:37] + "...")
  return f"{shown} U+{ord(text):04X}" if len(text) == 1 else shown


def _table(rows):
  """Aligned columns: the first one to the left, the others to the right."""
  widths = [
    max(len(cell) for cell in column) for column in zip(*rows, strict=True)
  ]
  return "\n".join(
    "  ".join(
      cell.ljust(width) if index == 0 else cell.rjust(width)
      for index, (cell, width) in enumerate(zip(row, widths, strict=True))
    ).rstrip()
    for row in rows
  )
